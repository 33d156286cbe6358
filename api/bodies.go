package api

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"

	"plannerd/internal/input"
	"plannerd/internal/input/compression"
	"plannerd/internal/web/contract"
	"plannerd/internal/web/httpkit"
)

const howToEncode = "This operation takes the Content-Encoding gzip and zstd: " +
	"gzip -c statistics.csv | curl -H 'Content-Type: text/csv' -H 'Content-Encoding: gzip' --data-binary @-."

// freeBody is how much of a body is read before anything is reserved, in bytes: whoever
// sends nothing holds nothing that others need. smallBody is how much is read before that
// is reserved which the body will take: a small one is whole by then.
const (
	freeBody  = 4 << 10
	smallBody = 64 << 10
)

// What reading bodies takes, in bytes, by the measure of package planning.
const (
	// readBytes is what reading any body of rows takes: a window and an answer.
	readBytes = 256 << 10
	// recordBytes is what records of JSON take besides, one of which is held as a whole.
	recordBytes = 1 << 20
	// gzipBytes and zstdBytes are what decompressing takes besides; the latter is
	// the greatest window that is accepted, and blocks.
	gzipBytes = 64 << 10
	zstdBytes = 9 << 20
	// memberBytes is what a byte of a member of a JSON body becomes at most, while
	// it is read: a routing table with short keys, a tree of small numbers.
	memberBytes = 8
)

// textTimes is what a byte of a body makes a request hold at its peak, decoded
// and planned: a guess before anything is known. Rows of JSON are long.
var textTimes = map[string]int64{mediaJSON: 4, mediaNDJSON: 4, mediaCSV: 6, mediaText: 12, mediaArrow: 6}

// compressedTimes is how much longer a text of rows is than what it is compressed
// to, usually.
const compressedTimes = 4

// contentEncoding is the content encoding of a request, in lower case.
func (c *call) contentEncoding() string { return strings.ToLower(c.Header.Get("Content-Encoding")) }

// expect has a request hold what its body will probably take, before more than its
// beginning is read. A body of unknown length starts with little.
func (c *call) expect(media string) error {
	least, probably := c.forecast(media)
	if c.ContentLength < 0 {
		c.memory.Open()
	}
	if err := c.memory.Expect(probably); err != nil {
		return err
	}
	return c.memory.Reserve(least)
}

// forecast is what a body takes while it is read, and what it will probably take.
func (c *call) forecast(media string) (least, probably int64) {
	least, times := int64(readBytes), textTimes[media]
	if c.Query.Has("columns") || c.Query.Has("records") {
		least += recordBytes
	}
	switch c.contentEncoding() {
	case "gzip":
		least, times = least+gzipBytes, times*compressedTimes
	case "zstd":
		least, times = least+zstdBytes, times*compressedTimes
	}
	return least, least + min(max(0, c.ContentLength), 1<<40)*times
}

// begin reads the beginning of a body, which is all of a small one. A client that waits
// for 100 Continue with a longer one is only told to go on if there is room just now.
func (c *call) begin(media string) error {
	if c.ContentLength > smallBody && c.Header.Get("Expect") != "" {
		_, probably := c.forecast(media)
		if err := c.memory.Expect(probably); err != nil {
			return err
		}
		c.memory.Release()
	}
	head, err := io.ReadAll(io.LimitReader(c.Body, freeBody))
	if err == nil && len(head) == freeBody {
		done, full := c.memory.Beginning(smallBody)
		if full != nil {
			return full
		}
		var more []byte
		more, err = io.ReadAll(io.LimitReader(c.Body, smallBody-freeBody))
		head = append(head, more...)
		done() // what it becomes is reserved anew
	}
	if err != nil && refuses(err) {
		return err
	}
	if err == nil && len(head) < smallBody {
		err, c.ContentLength = io.EOF, int64(len(head))
	}
	c.Body, c.head = &begunBody{c.Body, head, err}, head
	return nil
}

// readJSON reads and checks a JSON body, if there is one. What is not small is paid for.
func (c *call) readJSON(w http.ResponseWriter, into any) error {
	if err := c.begin(mediaJSON); err != nil {
		return err
	}
	if length := min(c.ContentLength, contract.MaxBody); length < 0 || length > smallBody {
		if length < 0 {
			length = contract.MaxBody
		}
		if err := c.memory.Reserve(length * memberBytes); err != nil {
			return err
		}
	}
	_, err := c.op.Read(w, c.Request, into)
	return err
}

// begunBody is a body of which the beginning was read, and perhaps its end or an error.
type begunBody struct {
	io.ReadCloser
	head []byte
	err  error // that follows the beginning; nil: there may be more
}

func (b *begunBody) Read(p []byte) (int, error) {
	if len(b.head) > 0 {
		n := copy(p, b.head)
		b.head = b.head[n:]
		return n, nil
	}
	if b.err != nil {
		return 0, b.err
	}
	return b.ReadCloser.Read(p)
}

// decoded says that the body was read, and what is left of it.
func (c *call) decoded(bytes int64, members map[string][]byte) error {
	for _, text := range members {
		bytes += int64(len(text)) * memberBytes
	}
	return c.memory.Settle(bytes)
}

// inBodyOnly refuses query parameters beside a JSON body.
func (c *call) inBodyOnly() error {
	p := httpkit.Invalid()
	for name := range c.Query {
		p.AtParameter(name, "belongs into the body when that is application/json, unless columns says what it calls "+
			"the fields of rows")
	}
	return p.OrNil()
}

// bulkBody returns the body of a request with many rows, and how to decode them,
// once there is memory for what it probably takes: until then no more than the
// beginning of it is read.
func (s *shared) bulkBody(w http.ResponseWriter, c *call, media string) (io.ReadCloser, input.Options, error) {
	hint, err := strconv.Atoi(c.Header.Get("Plannerd-Row-Count"))
	if err != nil {
		hint = 0
	}
	options := input.Options{
		Limits: s.limits.Statistics, Base64Keys: c.keys().base64, RowHint: hint, Reserve: c.memory.Reserve,
	}
	if err := c.readAs(media, &options); err != nil {
		return nil, options, err
	}
	limit := cmp.Or(max(0, s.limits.Statistics.Bytes), input.DefaultBytes)
	if c.ContentLength > limit {
		return nil, options, &http.MaxBytesError{Limit: limit}
	}
	if err := c.begin(media); err != nil {
		return nil, options, err
	}
	if c.Header.Get("Content-Encoding") == "" {
		options.Size = max(0, c.ContentLength)
	}
	if err := c.expect(media); err != nil {
		return nil, options, err
	}
	body, err := c.decompressed(http.MaxBytesReader(w, c.Body, limit))
	return body, options, err
}

// decompressed returns the body of a request without its Content-Encoding.
func (c *call) decompressed(body io.ReadCloser) (io.ReadCloser, error) {
	switch encoding := c.contentEncoding(); encoding {
	case "", "identity":
		return body, nil
	case "gzip", "zstd":
		r, err := compression.NewDecompressor(body, encoding)
		if err != nil {
			return nil, readProblem(c.Context(), err)
		}
		return r, nil
	}
	return nil, httpkit.Unsupported(howToEncode)
}

// readProblem is what to answer when a body cannot be read: what is wrong with
// it, or that it broke off.
func readProblem(ctx context.Context, err error) error {
	switch {
	case refuses(err):
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return httpkit.Malformed("The body broke off or is not in the encoding that Content-Encoding names.")
}
