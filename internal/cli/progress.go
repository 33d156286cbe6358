package cli

import (
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/schollz/progressbar/v3"
)

// Progress shows on a terminal how far a command is, once it takes longer than
// a second. Its zero value shows nothing.
type Progress struct {
	At    atomic.Int64
	Label atomic.Pointer[string]
	quit  chan struct{}
	gone  sync.WaitGroup
	// interrupted tells why reading is to end. Nil: nothing is read.
	interrupted func() error
}

// The times before the bar appears, and between two of its states.
const (
	progressDelay  = time.Second
	progressRedraw = 150 * time.Millisecond
)

// StartProgress watches work of the given total; below 0 it is unknown.
func StartProgress(w io.Writer, total int64) *Progress {
	p := &Progress{}
	if !IsTerminal(w) {
		return p
	}
	p.quit = make(chan struct{})
	p.gone.Go(func() { p.show(w, total) })
	return p
}

func (p *Progress) show(w io.Writer, total int64) {
	select {
	case <-p.quit:
		return
	case <-time.After(progressDelay):
	}
	bar := progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(w), progressbar.OptionClearOnFinish(), progressbar.OptionSetWidth(24),
		progressbar.OptionSetPredictTime(false)) // planning does not keep pace with reading
	defer func() { _ = bar.Clear() }() // the terminal may be gone
	ticker := time.NewTicker(progressRedraw)
	defer ticker.Stop()
	for {
		if label := p.Label.Load(); label != nil {
			bar.Describe(*label)
		}
		at := p.At.Load()
		if total > 0 {
			at = min(at, total-1) // a full bar would count as finished
		}
		_ = bar.Set64(at)
		select {
		case <-p.quit:
			return
		case <-ticker.C:
		}
	}
}

// Describe says what is being done.
func (p *Progress) Describe(label string) { p.Label.Store(&label) }

// Add counts n more.
func (p *Progress) Add(n int64) { p.At.Add(n) }

// Stop removes the bar. It may be called again.
func (p *Progress) Stop() {
	if p.quit != nil {
		close(p.quit)
		p.gone.Wait()
		p.quit = nil
	}
}

// Write counts what is written, and fails once the command is interrupted that reads.
func (p *Progress) Write(b []byte) (int, error) {
	p.Add(int64(len(b)))
	if p.interrupted != nil {
		return len(b), p.interrupted()
	}
	return len(b), nil
}

// Reader counts what is read from r, and fails once the command is interrupted.
func (p *Progress) Reader(env *Environment, r io.Reader) io.Reader {
	p.interrupted = env.Ctx.Err
	return io.TeeReader(r, p)
}
