package api

import (
	"context"
	"io"
	"net/http"
	"time"

	"plannerd/api/wire"
)

const (
	// bulkBytes is how long a decoded body may be without a slot.
	bulkBytes = 1 << 20
	// bulkWait is how long a longer one waits for a slot.
	bulkWait = time.Second
)

// take waits for a slot. The function it returns gives the slot back.
func take(ctx context.Context, slots chan struct{}) (release func(), err error) {
	select {
	case slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	release = func() { <-slots }
	if ctx.Err() != nil { // both may have been ready
		release()
		return nil, ctx.Err()
	}
	return release, nil
}

// bulkReader reads a body and takes a slot once it turns out to be long, so that
// the statistics in memory are bounded however many requests come at once.
// Closing it does not give the slot back: what was read of the body stays.
type bulkReader struct {
	io.ReadCloser
	call  *call
	slots chan struct{}
	left  int // bytes that need no slot; −1: it has one
}

func (r *bulkReader) Read(p []byte) (int, error) {
	if r.left == 0 {
		if err := r.takeSlot(); err != nil {
			return 0, err
		}
		r.left = -1
	}
	if r.left > 0 {
		p = p[:min(len(p), r.left)]
	}
	n, err := r.ReadCloser.Read(p)
	if r.left > 0 {
		r.left -= n
	}
	return n, err
}

// takeSlot takes a slot until the request ends.
func (r *bulkReader) takeSlot() error {
	ctx, cancel := context.WithTimeout(r.call.Context(), bulkWait)
	defer cancel()
	release, err := take(ctx, r.slots)
	if err == nil {
		r.call.atEnd(release)
		return nil
	}
	if r.call.Context().Err() != nil {
		return r.call.Context().Err()
	}
	return &problem{
		status: http.StatusServiceUnavailable, code: wire.CodeBusy, retryAfter: 1,
		detail: "Too many large bodies are being read and planned; try again.",
	}
}
