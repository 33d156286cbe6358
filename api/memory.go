package api

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/dustin/go-humanize"

	"plannerd/api/wire"
	"plannerd/internal/admission"
	"plannerd/planner"
	"plannerd/store"
)

// What requests hold, in bytes: by BenchmarkMemory, which takes the most live
// memory of requests with a million rows of four columns and keys of 13 bytes
// under frequent collections, rounded up. Decoded columns (50 a row) are not in
// these; they are counted as they are.
const (
	// readBytes is what reading any body of rows takes: a window and an answer.
	readBytes = 256 << 10
	// gzipBytes and zstdBytes are what decompressing takes besides; the latter is
	// the greatest window that is accepted, and blocks.
	gzipBytes = 64 << 10
	zstdBytes = 9 << 20

	// memberBytes is what a byte of a member of a JSON body becomes at most, while
	// it is read: a routing table with short keys, a tree of small numbers.
	memberBytes = 8
	// planRowBytes is for a row: the snapshot, the scratch of a strategy and its
	// certificate, its moves and what they do to the table, the encoded input. The
	// text of keys is in the input once more.
	planRowBytes = 112
	// compactRowBytes is for a row of keys that are brought into the compact form
	// besides.
	compactRowBytes = 64
	// moveBytes is for a move that is kept and answered, as JSON and as the store
	// takes it; its key stands four times at most.
	moveBytes    = 128
	moveKeyTimes = 4
	// trialMoveBytes is for a move of one plan of a what-if, and trialTextBytes for
	// it in an answer with the plans, besides its key.
	trialMoveBytes = 48
	trialTextBytes = 224
	// loadBytes is for an instance in the answer, once for each plan.
	loadBytes = 512
	// entryBytes is for an entry of a stored routing table and its key, as it is
	// read and indexed, or answered.
	entryBytes = 256
	// listedBytes is for a move or change that is read from the store and listed.
	listedBytes = 256
	// changeBytes is for a change of the table that a resolution comes to, as the
	// store takes it.
	changeBytes = 128
	// analysisRowBytes is for a row of an analysis.
	analysisRowBytes = 256
	// mergedRowBytes is for a row of a stored report while it is merged with others.
	mergedRowBytes = 256
	// storedRowBytes is for a row of a stored input while it is decoded.
	storedRowBytes = 128
)

// textTimes is what a byte of a body makes a request hold at its peak, decoded
// and planned: a guess before anything is known. Rows of JSON are long.
var textTimes = map[string]int64{"application/json": 4, mediaNDJSON: 4, mediaCSV: 6, mediaText: 12, mediaArrow: 6}

// compressedTimes is how much longer a text of rows is than what it is compressed
// to, usually.
const compressedTimes = 4

// expect has a request hold what its body will probably take, before anything is
// read of it. A body of unknown length starts with little.
func (c *call) expect(media, encoding string) error {
	least, times := int64(readBytes), textTimes[media]
	switch encoding {
	case "gzip":
		least, times = least+gzipBytes, times*compressedTimes
	case "zstd":
		least, times = least+zstdBytes, times*compressedTimes
	}
	probably := least
	if c.ContentLength < 0 {
		c.memory.Open()
	} else {
		probably += min(c.ContentLength, 1<<40) * times
	}
	if err := c.memory.Expect(probably); err != nil {
		return err
	}
	return c.memory.Reserve(least)
}

// decoded says that the body was read, and what is left of it.
func (c *call) decoded(bytes int64, members map[string][]byte) error {
	for _, text := range members {
		bytes += int64(len(text)) * memberBytes
	}
	return c.memory.Settle(bytes)
}

// planBytes is what planning on the statistics takes.
func (st *statistics) planBytes() int64 {
	if st.records != nil {
		return int64(len(st.records.Records)) * (planRowBytes + compactRowBytes)
	}
	n := int64(st.Len())*planRowBytes + int64(st.Keys.Bytes())
	if st.compact != nil && st.compact.Degree > 0 {
		n += int64(st.Len()) * compactRowBytes
	}
	return n
}

// answerBytes is what keeping and answering a plan takes.
func (o *outcome) answerBytes() int64 {
	return int64(len(o.Moves)+len(o.Set)+len(o.Unset))*moveBytes/2 + moveKeyTimes*movedKeyBytes(o.Plan) + int64(len(o.Instances))*loadBytes
}

// trialBytes is what a plan of a what-if takes until all are answered. asked: with
// its lists.
func (o *outcome) trialBytes(asked bool) int64 {
	n := int64(len(o.Moves)) * trialMoveBytes
	if asked {
		n += int64(len(o.Moves))*trialTextBytes + moveKeyTimes*movedKeyBytes(o.Plan)
	}
	return n
}

// movedKeyBytes is how long the keys are that a plan moves, together.
func movedKeyBytes(p *planner.Plan) (n int64) {
	if p.Snapshot.Keys.Len() == 0 { // classes
		return 0
	}
	for _, m := range p.Moves {
		n += int64(len(p.Snapshot.Keys.At(int(m.Item))))
	}
	return n
}

// listLength is about how long the lists of a plan are: what it moves, and what it
// does to the table.
func listLength(p store.Plan) int64 {
	return 2*p.MigrationKeys + max(p.TableAfter-p.TableBefore, p.TableBefore-p.TableAfter)
}

// list has a request hold what a long list that it reads from the store takes.
func (c *call) list(items int64) error { return c.memory.Reserve(max(0, items) * listedBytes) }

// holdTable has a lease hold the committed routing table of an operator.
func holdTable(l *admission.Lease, op store.Operator) error {
	return l.Reserve(op.TableSize * entryBytes)
}

// memoryProblem is the answer to a request that needs more than there is.
func memoryProblem(e *admission.ExceededError) *problem {
	return tooLarge(fmt.Sprintf("The request needs at least %s of memory; this server gives %s to one.",
		humanize.IBytes(uint64(e.Need)), humanize.IBytes(uint64(e.Limit))))
}

// overBudget is the answer to a request that would fit at another time.
func overBudget() *problem {
	return &problem{
		status: http.StatusTooManyRequests, code: wire.CodeOverBudget, retryAfter: 1,
		detail: "Other requests hold the memory that this one needs; try again.",
	}
}

// contentEncoding is the content encoding of a request, in lower case.
func (c *call) contentEncoding() string { return strings.ToLower(c.Header.Get("Content-Encoding")) }
