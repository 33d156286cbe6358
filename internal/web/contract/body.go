package contract

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"plannerd/internal/web/httpkit"
)

// MaxBody is the limit of a body that is read as a whole, in bytes.
const MaxBody = 1 << 20

// Read reads and checks a JSON body into the Go value. It reports whether there was one.
func (o *Operation) Read(w http.ResponseWriter, r *http.Request, into any) (bool, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	var length *http.MaxBytesError
	switch {
	case errors.As(err, &length), errors.Is(err, httpkit.ErrBodyTooSlow):
		return false, err
	case err != nil:
		return false, httpkit.Malformed("The body cannot be read.")
	case len(body) == 0 && o.RequestBody.Value.Required:
		return false, httpkit.Malformed("The body is missing.")
	case len(body) == 0:
		return false, nil
	}
	if media, ok := MediaType(r); !ok || media != o.jsonType() {
		return false, httpkit.Unsupported(fmt.Sprintf(
			"This operation takes %s: curl -H 'Content-Type: %[1]s' --data @file.", o.jsonType()))
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return false, httpkit.Unsupported("This operation takes no Content-Encoding.")
	}
	return true, DecodeRequest(body, into, "", o.Body())
}

// MediaType returns that of a request's body; false: it is none, or text that is not
// UTF-8.
func MediaType(r *http.Request) (string, bool) {
	media, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset, said := params["charset"]
	return media, err == nil && (!said || strings.EqualFold(charset, "utf-8"))
}

// DecodeRequest is Decode of what somebody asked, in which shares may have a percent sign.
func DecodeRequest(text []byte, into any, prefix string, schema *openapi3.Schema) error {
	text, err := ReadShares(text, schema, prefix)
	if err != nil {
		return err
	}
	return Decode(text, into, prefix, schema)
}

// Decode brings JSON text into a Go value: no unknown and no repeated
// members, valid UTF-8. prefix is the JSON pointer of the text in the body.
// When schema is given the text is first held against it, which finds all
// problems and not only the first.
func Decode(text []byte, into any, prefix string, schema *openapi3.Schema) error {
	if schema != nil {
		var tree any
		if err := json.Unmarshal(text, &tree); err != nil {
			return JSONProblem(err, prefix)
		}
		// Whether read-only members are as they stand, the handlers say.
		options := []openapi3.SchemaValidationOption{
			openapi3.MultiErrors(), openapi3.VisitAsRequest(), openapi3.DisableReadOnlyValidation(),
		}
		if err := schema.VisitJSON(tree, options...); err != nil {
			p := httpkit.Invalid()
			for _, f := range schemaProblems(err, prefix) {
				p.At(f.pointer, f.detail)
			}
			return p
		}
	}
	if err := json.Unmarshal(text, into, json.RejectUnknownMembers(true)); err != nil {
		return JSONProblem(err, prefix)
	}
	return nil
}

// JSONProblem turns an error of the JSON decoder into a problem.
func JSONProblem(err error, prefix string) error {
	var (
		syntax   *jsontext.SyntacticError
		semantic *json.SemanticError
	)
	switch {
	case errors.As(err, &syntax):
		detail := "is not valid"
		if syntax.Err != nil {
			detail = strings.TrimPrefix(syntax.Err.Error(), "jsontext: ")
		}
		return httpkit.Malformed("The body is not well-formed JSON.").
			With(prefix+string(syntax.JSONPointer), fmt.Sprintf("at byte %d: %s", syntax.ByteOffset, detail))
	case errors.Is(err, json.ErrUnknownName) && errors.As(err, &semantic):
		return httpkit.Invalid().With(prefix+string(semantic.JSONPointer), "is not a known field")
	case errors.As(err, &semantic):
		return httpkit.Invalid().With(prefix+string(semantic.JSONPointer), "is of the wrong type or out of range")
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return httpkit.Malformed("The body ends too early.")
	}
	return err
}
