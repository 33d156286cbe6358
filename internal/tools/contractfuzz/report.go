package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// finding is a kind of fault of an operation, and the first request that had it.
type finding struct {
	operation, kind string
	detail, command string
	times           int
}

// report is what a run found.
type report struct {
	contract  *contract
	requests  int
	took      time.Duration
	statuses  map[string]map[int]int // by operation
	elsewhere map[int]int            // of methods and paths that are none
	closed    int                    // connections without an answer
	findings  []finding
	recent    map[string]*request // by id
	order     []string            // their ids
}

func newReport(c *contract) report {
	return report{contract: c, statuses: map[string]map[int]int{}, elsewhere: map[int]int{}, recent: map[string]*request{}}
}

// count counts an answer, if there is one, and returns how many requests it were.
func (r *report) count(q *request, a *answer) int {
	r.requests++
	switch {
	case a == nil:
	case a.closed:
		r.closed++
	case q.stray != "" || q.lie != "" || q.op.served(q.method) == nil || q.method != q.op.method:
		r.elsewhere[a.status]++
	default:
		name := q.op.name()
		if r.statuses[name] == nil {
			r.statuses[name] = map[int]int{}
		}
		r.statuses[name][a.status]++
	}
	return r.requests
}

// keep remembers a request for a while.
func (r *report) keep(q *request) {
	r.recent[q.id] = q
	if r.order = append(r.order, q.id); len(r.order) > recent {
		delete(r.recent, r.order[0])
		r.order = r.order[1:]
	}
}

// add adds a finding, or counts it where its kind is known.
func (r *report) add(f finding) (fresh bool) {
	if i := r.find(f.operation, f.kind); i >= 0 {
		r.findings[i].times++
		return false
	}
	f.times = 1
	r.findings = append(r.findings, f)
	return true
}

func (r *report) find(operation, kind string) int {
	return slices.IndexFunc(r.findings, func(f finding) bool { return f.operation == operation && f.kind == kind })
}

func (r *report) shorten(operation, kind, command string) {
	if i := r.find(operation, kind); i >= 0 {
		r.findings[i].command = command
	}
}

// reached counts pairs of an operation and a status that it documents: those that
// were seen, and all.
func (r *report) reached() (seen, all int) {
	for _, o := range r.contract.operations {
		for _, status := range o.documented() {
			all++
			if r.statuses[o.name()][status] > 0 {
				seen++
			}
		}
	}
	return seen, all
}

// documented lists the statuses that the operation names.
func (o *operation) documented() (out []int) {
	for name := range o.Responses.Map() {
		var status int
		if _, err := fmt.Sscan(name, &status); err == nil {
			out = append(out, status)
		}
	}
	slices.Sort(out)
	return out
}

// write writes the report as Markdown.
func (r *report) write(w io.Writer) {
	fmt.Fprintf(w, "%d requests in %v.\n\n| operation | answers | documented, not seen |\n|---|---|---|\n", r.requests, r.took.Round(time.Second))
	for _, o := range r.contract.operations {
		var missing []string
		for _, status := range o.documented() {
			if r.statuses[o.name()][status] == 0 {
				missing = append(missing, strconv.Itoa(status))
			}
		}
		fmt.Fprintf(w, "| %s | %s | %s |\n", o.name(), counts(r.statuses[o.name()]), strings.Join(missing, " "))
	}
	fmt.Fprintf(w, "| odd methods, paths and bytes | %s, closed × %d | |\n", counts(r.elsewhere), r.closed)
	seen, all := r.reached()
	fmt.Fprintf(w, "\n%d operations, %d of %d documented statuses seen.\n", len(r.contract.operations), seen, all)
	for _, f := range r.findings {
		fmt.Fprintf(w, "\n## %s: %s (%d times)\n\n%s\n\n    %s\n", f.operation, f.kind, f.times, f.detail, f.command)
	}
	if len(r.findings) == 0 {
		fmt.Fprintln(w, "\nNothing was found.")
	}
}

// counts lists statuses and how often they came.
func counts(of map[int]int) string {
	var parts []string
	for _, status := range slices.Sorted(maps.Keys(of)) {
		parts = append(parts, fmt.Sprintf("%d × %d", status, of[status]))
	}
	return strings.Join(parts, ", ")
}
