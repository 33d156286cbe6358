package httpkit

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
)

// ETag returns the strong validator of a representation.
func ETag(body []byte) string {
	sum := sha256.Sum256(body)
	return formatETag(sum[:])
}

// ETagOf returns the [ETag] of what body writes, which is never in memory as a
// whole.
func ETagOf(body func(*bufio.Writer) error) (string, error) {
	sum := sha256.New()
	out := bufio.NewWriter(sum)
	if err := body(out); err != nil {
		return "", err
	}
	if err := out.Flush(); err != nil {
		return "", err
	}
	return formatETag(sum.Sum(nil)), nil
}

func formatETag(sum []byte) string { return `"` + hex.EncodeToString(sum[:16]) + `"` }

// NotModified sets the ETag of an answer. When If-None-Match names it, it answers
// 304 and reports true.
func NotModified(w http.ResponseWriter, r *http.Request, etag string) bool {
	w.Header().Set("ETag", etag)
	named, found := IfNoneMatch(r, etag)
	if !found {
		return false
	}
	if named != "" {
		w.Header().Set("ETag", named)
	}
	w.WriteHeader(http.StatusNotModified)
	return true
}

// IfNoneMatch reports whether If-None-Match names one of the ETags in any content
// coding, and returns it as it stands there; "" for "*".
func IfNoneMatch(r *http.Request, etags ...string) (named string, found bool) {
	for _, candidate := range listedETags(r, "If-None-Match") {
		candidate = strings.TrimPrefix(candidate, "W/")
		if candidate == "*" {
			return "", true
		}
		if slices.Contains(etags, withoutCoding(candidate)) {
			return candidate, true
		}
	}
	return "", false
}

// listedETags returns the ETags that a header lists, as they stand there.
func listedETags(r *http.Request, header string) []string {
	var out []string
	for candidate := range strings.SplitSeq(strings.Join(r.Header.Values(header), ","), ",") {
		if candidate = strings.TrimSpace(candidate); candidate != "" {
			out = append(out, candidate)
		}
	}
	return out
}

// withoutCoding removes the content coding from an ETag that [Compress] sent.
func withoutCoding(etag string) string {
	for coding := range encoderPools {
		if plain, ok := strings.CutSuffix(etag, "-"+coding+`"`); ok {
			return plain + `"`
		}
	}
	return etag
}

// PlainETags is middleware for handlers that know nothing of content codings, such
// as http.FileServer: in If-None-Match they find the ETags that they sent before
// [Compress] changed them. An answer 304 has the ETag that the client named.
func PlainETags(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		const header = "If-None-Match"
		if r.Header.Get(header) == "" {
			next.ServeHTTP(w, r)
			return
		}
		tags := listedETags(r, header)
		for i := range tags {
			tags[i] = withoutCoding(tags[i])
		}
		plain := r.Clone(r.Context())
		plain.Header.Set(header, strings.Join(tags, ", "))
		next.ServeHTTP(&codedETagWriter{w, r}, plain)
	})
}

// codedETagWriter gives an answer 304 the ETag that the request names.
type codedETagWriter struct {
	http.ResponseWriter
	request *http.Request
}

func (w *codedETagWriter) WriteHeader(status int) {
	if status == http.StatusNotModified {
		if named, found := IfNoneMatch(w.request, w.Header().Get("ETag")); found && named != "" {
			w.Header().Set("ETag", named)
		}
	}
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (w *codedETagWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// PreconditionError says that If-Match or If-None-Match does not hold.
type PreconditionError struct{ Detail string }

func (e *PreconditionError) Error() string { return "precondition failed: " + e.Detail }

// CheckPreconditions holds the If-Match and If-None-Match of a request that changes
// something against the representation that exists; a nil function says that there
// is none. It fails with a [*PreconditionError], or with the error of the function,
// which is only called when there is a header to check.
func CheckPreconditions(r *http.Request, representation func() ([]byte, error)) error {
	match, noneMatch := listedETags(r, "If-Match"), listedETags(r, "If-None-Match")
	if len(match) == 0 && len(noneMatch) == 0 {
		return nil
	}
	if representation == nil {
		if len(match) > 0 {
			return &PreconditionError{"There is nothing that could match."}
		}
		return nil
	}
	body, err := representation()
	if err != nil {
		return err
	}
	etag := ETag(body)
	names := func(list []string, etag string) bool {
		return slices.ContainsFunc(list, func(listed string) bool { return listed == "*" || withoutCoding(listed) == etag })
	}
	if len(match) > 0 && !names(match, etag) {
		return &PreconditionError{"What is there is no longer what If-Match names: GET it again."}
	}
	if names(noneMatch, etag) || names(noneMatch, "W/"+etag) {
		return &PreconditionError{"There is already what If-None-Match excludes."}
	}
	return nil
}
