package httpkit

import (
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json"
)

// WriteBody answers with a whole body. JSON ends with its line, so that the next prompt of
// a terminal has its own.
func WriteBody(w http.ResponseWriter, status int, contentType string, body []byte) {
	if isJSON(contentType) {
		body = append(body[:len(body):len(body)], '\n')
	}
	WriteText(w, status, contentType, body)
}

// WriteText answers with a whole body as it is, which others may write at the same time.
func WriteText(w http.ResponseWriter, status int, contentType string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // an error here means that the client is gone
}

// isJSON reports whether a body is one value of JSON.
func isJSON(contentType string) bool {
	return contentType == "application/json" || contentType == "application/problem+json"
}

// WriteJSON answers with v.
func WriteJSON(w http.ResponseWriter, status int, v any) error {
	body, err := json.Marshal(v)
	if err == nil {
		WriteBody(w, status, "application/json", body)
	}
	return err
}

// WriteTagged answers 200 with a body and its ETag, or 304 when the client has it
// already.
func WriteTagged(w http.ResponseWriter, r *http.Request, contentType string, body []byte) {
	if !NotModified(w, r, ETag(body)) {
		WriteBody(w, http.StatusOK, contentType, body)
	}
}

// WriteTaggedJSON is [WriteTagged] for v.
func WriteTaggedJSON(w http.ResponseWriter, r *http.Request, v any) error {
	body, err := json.Marshal(v)
	if err == nil {
		WriteTagged(w, r, "application/json", body)
	}
	return err
}
