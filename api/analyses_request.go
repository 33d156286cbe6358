package api

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"plannerd/internal/analyses"
	"plannerd/internal/input"
	"plannerd/internal/parameters"
	"plannerd/internal/web/contract"
	"plannerd/internal/web/httpkit"
)

const howToAnalyse = "This operation takes application/json, application/x-ndjson, text/csv, and text/plain with a " +
	"stream of one key a line: " +
	"curl -H 'Content-Type: text/plain' --data-binary @keys.txt."

// maxAnalysisFields is how long a request may be without its keys, in bytes: it
// may name each node, or each interval of a division.
const maxAnalysisFields = 8 << 20

// analysesOf answers what is asked of analyses.
type analysesOf struct{ *shared }

// analysisRequest is what a request for an analysis says.
type analysisRequest struct {
	// fields are the members of a JSON body without those that hold keys, or the
	// query parameters, as a JSON object within the contract.
	fields []byte
	query  bool // they came as query parameters
	source analysisSource
	input  *analyses.Input // keys of the body; nil: it has none
	// pointer is where a row of the input is in the body.
	pointer func(row int, field string) string
}

// analysisSource names the stored statistics that are to be analysed.
type analysisSource struct {
	Operator *string `json:"operator"`
	Interval *int64  `json:"interval"`
	Epoch    *int64  `json:"epoch"`
}

// readAnalysis reads a request for an analysis and holds it against the contract.
func (s analysesOf) readAnalysis(w http.ResponseWriter, c *call) (*analysisRequest, error) {
	media, ok := contract.MediaType(c.Request)
	switch {
	case ok && !c.rowsAlone(media):
		return s.readAnalysisJSON(w, c)
	case ok && (media == mediaJSON || media == mediaNDJSON || media == mediaCSV || media == mediaText):
		return s.readAnalysisRows(w, c, media)
	}
	return nil, httpkit.Unsupported(howToAnalyse)
}

// readAnalysisJSON reads a request that is all in its body.
func (s analysesOf) readAnalysisJSON(w http.ResponseWriter, c *call) (*analysisRequest, error) {
	if err := c.inBodyOnly(); err != nil {
		return nil, err
	}
	body, options, err := s.bulkBody(w, c, "application/json")
	if err != nil {
		return nil, err
	}
	defer body.Close()
	doc, err := input.Decode(body, input.JSON, options)
	if err != nil {
		return nil, c.rowsProblem(mediaJSON, err)
	}
	stream, streamed := doc.Members["stream"]
	delete(doc.Members, "stream")
	if err := c.decoded(doc.Bytes()+int64(len(stream)), doc.Members); err != nil {
		return nil, err
	}
	r := &analysisRequest{pointer: doc.Pointer}
	if err := r.readFields(doc.Members, c.op.Body()); err != nil {
		return nil, err
	}
	if err := r.checkSource(streamed, doc.Stats != nil); err != nil {
		return nil, err
	}
	if streamed {
		streamOptions := options
		streamOptions.Base64Keys = doc.Base64Keys
		r.input, err = analyses.DecodeStream(stream, streamOptions)
		r.pointer = func(row int, _ string) string { return "/stream/" + strconv.Itoa(row) }
		return r, err
	}
	if err := r.takeRows(doc); err != nil {
		return nil, err
	}
	return r, nil
}

// readFields reads the members of a JSON body beside its keys.
func (r *analysisRequest) readFields(raw map[string][]byte, schema *openapi3.Schema) error {
	members, size := make(map[string]jsontext.Value, len(raw)), 0
	for name, text := range raw {
		members[name] = text
		size += len(text)
	}
	if size > maxAnalysisFields {
		return httpkit.TooLarge(fmt.Sprintf("The request is longer than %d bytes beside its keys.", maxAnalysisFields))
	}
	var err error
	if r.fields, err = json.Marshal(members, json.Deterministic(true)); err != nil {
		return err
	}
	var checked jsontext.Value
	if err := contract.DecodeRequest(r.fields, &checked, "", schema); err != nil {
		return err
	}
	r.fields = checked
	return json.Unmarshal(r.fields, &r.source)
}

// checkSource sees to it that the keys come from one place.
func (r *analysisRequest) checkSource(streamed, rows bool) error {
	const exclusive = `"stream", "keys", "columns" and "operator" with "interval" exclude each other`
	stored := r.source != analysisSource{}
	p := httpkit.Invalid()
	switch {
	case streamed && rows:
		p.At("/stream", exclusive)
	case stored && (streamed || rows):
		p.At("/operator", exclusive)
	case stored && r.source.Operator == nil:
		p.At("/operator", "is needed with interval and epoch")
	case stored && r.source.Interval == nil:
		p.At("/interval", "is needed with operator")
	}
	return p.OrNil()
}

// takeRows takes the rows of a body for the input.
func (r *analysisRequest) takeRows(doc *input.Document) error {
	if doc.Stats == nil {
		return nil
	}
	var err error
	if r.input, err = analyses.FromStatistics(doc.Stats); err != nil {
		return r.problem(err)
	}
	r.input.Base64 = doc.Base64Keys
	return nil
}

// readAnalysisRows reads a request whose body has keys only.
func (s analysesOf) readAnalysisRows(w http.ResponseWriter, c *call, media string) (*analysisRequest, error) {
	r := &analysisRequest{query: true}
	var err error
	if r.fields, err = queriedFields(c); err != nil {
		return nil, err
	}
	body, options, err := s.bulkBody(w, c, media)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	if media == mediaText {
		r.pointer = func(row int, field string) string { return "/" + strconv.Itoa(row) + "/" + field }
		r.input, err = analyses.DecodeLines(body, options)
		if err != nil {
			return nil, readProblem(c.Context(), err)
		}
		r.input.Base64 = options.Base64Keys
		return r, nil
	}
	doc, err := input.Decode(body, formats[media], options)
	if err != nil {
		return nil, c.rowsProblem(media, err)
	}
	r.pointer = doc.Pointer
	if doc.Records != nil {
		return nil, httpkit.Invalid().With("", "has compact records; an analysis needs keys")
	}
	if err := r.takeRows(doc); err != nil {
		return nil, err
	}
	return r, nil
}

// queriedFields returns the query parameters as a JSON object.
func queriedFields(c *call) ([]byte, error) {
	fields := c.Values()
	maps.DeleteFunc(fields, func(name string, _ any) bool { return slices.Contains(readingRows, name) })
	if fields["key_encoding"] == "utf8" { // it says nothing
		delete(fields, "key_encoding")
	}
	return json.Marshal(fields, json.Deterministic(true))
}

// problem points an error of an analysis at the row or field of the request that
// it is about.
func (r *analysisRequest) problem(err error) error {
	given := parameters.InputError(err)
	switch {
	case given == nil:
		return err
	case given.Row >= 0 && r.pointer != nil:
		return httpkit.Invalid().With(r.pointer(given.Row, given.Field), given.Detail)
	case given.Row >= 0: // of stored statistics
		return httpkit.Invalid().With("/interval", given.Error())
	case !r.query:
		return httpkit.Invalid().With("/"+given.Field, given.Detail)
	}
	name, rest, _ := strings.Cut(given.Field, "/")
	if rest != "" {
		return httpkit.Invalid().WithParameter(name, given.Field+": "+given.Detail)
	}
	return httpkit.Invalid().WithParameter(name, given.Detail)
}
