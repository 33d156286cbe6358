package main

import (
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/schollz/progressbar/v3"
)

// progress shows on a terminal how far a command is, once it takes longer than
// a second. Its zero value shows nothing.
type progress struct {
	at    atomic.Int64
	label atomic.Pointer[string]
	quit  chan struct{}
	gone  sync.WaitGroup
}

// The times before the bar appears, and between two of its states.
const (
	progressDelay  = time.Second
	progressRedraw = 150 * time.Millisecond
)

// startProgress watches work of the given total; below 0 it is unknown.
func startProgress(w io.Writer, total int64) *progress {
	p := &progress{}
	if !isTerminal(w) {
		return p
	}
	p.quit = make(chan struct{})
	p.gone.Go(func() { p.show(w, total) })
	return p
}

func (p *progress) show(w io.Writer, total int64) {
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
		if label := p.label.Load(); label != nil {
			bar.Describe(*label)
		}
		at := p.at.Load()
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

// describe says what is being done.
func (p *progress) describe(label string) { p.label.Store(&label) }

// add counts n more.
func (p *progress) add(n int64) { p.at.Add(n) }

// stop removes the bar. It may be called again.
func (p *progress) stop() {
	if p.quit != nil {
		close(p.quit)
		p.gone.Wait()
		p.quit = nil
	}
}

// reader counts what is read from r.
func (p *progress) reader(r io.Reader) io.Reader { return countingReader{r, p} }

type countingReader struct {
	io.Reader
	progress *progress
}

func (r countingReader) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	r.progress.add(int64(n))
	return n, err
}
