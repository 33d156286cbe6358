package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"

	"plannerd/internal/web/httpkit"
)

// progressPause is the least time between two lines of progress.
const progressPause = 250 * time.Millisecond

// progressLine tells how far an analysis is.
type progressLine struct {
	Progress struct {
		Phase string `json:"phase"`
		Done  int64  `json:"done"`
		Total int64  `json:"total"`
	} `json:"progress"`
}

// resultLine is the last line of an analysis that came to its end.
type resultLine struct {
	Result any `json:"result"`
}

// problemLine is the last line of one that did not.
type problemLine struct {
	Problem httpkit.ProblemDocument `json:"problem"`
}

// analysisAnswer is the answer to an analysis. As JSON it is the result, or the
// problem. As NDJSON it is lines of progress, the first of which begins it, and a
// last one with the result or the problem.
type analysisAnswer struct {
	w     http.ResponseWriter
	lines bool
	now   func() time.Time
	begun bool
	next  time.Time // when the next line of progress is due
	err   error     // of writing: the client is gone
}

// progress writes a line of progress when one is due.
func (a *analysisAnswer) progress(phase string, done, total int64) {
	if !a.lines || a.err != nil {
		return
	}
	now := a.now()
	if now.Before(a.next) {
		return
	}
	a.next = now.Add(progressPause)
	var line progressLine
	line.Progress.Phase, line.Progress.Done, line.Progress.Total = phase, done, total
	a.line(line)
}

// line writes one line and sends it.
func (a *analysisAnswer) line(v any) {
	text, err := json.Marshal(v)
	if err != nil {
		a.err = err
		return
	}
	if !a.begun {
		a.begun = true
		a.w.Header().Set("Content-Type", mediaNDJSON)
		a.w.WriteHeader(http.StatusOK)
	}
	if _, a.err = a.w.Write(append(text, '\n')); a.err == nil {
		a.err = http.NewResponseController(a.w).Flush()
	}
}

// result ends the answer.
func (a *analysisAnswer) result(v any) error {
	if !a.lines {
		return httpkit.WriteJSON(a.w, http.StatusOK, v)
	}
	a.line(resultLine{v})
	return a.err
}

// fail ends the answer with a problem, if it has begun. It returns what is left
// to be answered: err, when it has not, and when nobody waits for it any more.
func (a *analysisAnswer) fail(err error) error {
	if !a.begun || errors.Is(err, context.Canceled) {
		return err
	}
	a.line(problemLine{problemOf(err).Document()})
	return a.err
}
