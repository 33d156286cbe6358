package api

// The media types of bodies.
const (
	mediaJSON   = "application/json"
	mediaNDJSON = "application/x-ndjson"
	mediaCSV    = "text/csv"
	mediaArrow  = "application/vnd.apache.arrow.stream"
	mediaText   = "text/plain" // a stream of one key a line
)
