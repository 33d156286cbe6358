package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"plannerd/internal/lab/pgserver"
)

// report is what a run tells.
type report struct {
	options    options
	outcomes   map[kind]map[string]int
	operations int // that were sent
	plans      int
	versions   int
	operators  int
	done       faults
	checking   time.Duration // of all histories together
	longest    time.Duration // of one
	took       time.Duration
	faults     []string
}

func newReport(o options) report {
	return report{options: o, outcomes: map[kind]map[string]int{}}
}

// add counts what became of an operator.
func (r *report) add(h *history, faults []string, checking time.Duration) {
	for i := range h.records {
		q, a := h.records[i].request, &h.records[i].answer
		if r.outcomes[q.kind] == nil {
			r.outcomes[q.kind] = map[string]int{}
		}
		r.outcomes[q.kind][a.kind()]++
		if a.outcome != unsent {
			r.operations++
		}
	}
	for i := range h.model.plans {
		if r.plans++; h.model.plans[i].Version != nil {
			r.versions++
		}
	}
	r.operators++
	r.checking += checking
	r.longest = max(r.longest, checking)
	r.faults = append(r.faults, faults...)
}

// kind is an outcome as it is counted.
func (a *answer) kind() string {
	switch {
	case a.outcome == unsent:
		return "not sent"
	case a.outcome == unknown && a.status == 0:
		return "unknown: no answer"
	case a.outcome == unknown:
		return fmt.Sprintf("unknown: %d %s", a.status, a.code)
	case a.code != "":
		return fmt.Sprintf("%d %s", a.status, a.code)
	}
	return strconv.Itoa(a.status)
}

// write writes the report as Markdown.
func (r *report) write(out io.Writer) {
	o := r.options
	fmt.Fprintf(out, "| operation | outcome | number |\n|---|---|---:|\n")
	for _, k := range slices.Sorted(maps.Keys(r.outcomes)) {
		for _, outcome := range slices.Sorted(maps.Keys(r.outcomes[k])) {
			fmt.Fprintf(out, "| %s | %s | %d |\n", k, outcome, r.outcomes[k][outcome])
		}
	}
	fmt.Fprintf(out, "\n%d operations by %d clients on %d operators in %v, seed %d; %d replicas on %s.\n",
		r.operations, o.clients, r.operators, r.took.Round(time.Second/10), o.seed, o.replicas, o.store)
	d := r.done
	fmt.Fprintf(out, "%d kills of replicas; %d times one was frozen, %d times its network swallowed; %d fast and %d "+
		"immediate restarts of PostgreSQL.\n",
		d.killed, d.frozen, d.swallowed, d.restarted[pgserver.Fast], d.restarted[pgserver.Immediate])
	fmt.Fprintf(out, "%d failovers to a standby that was behind, %d backups restored under running routers.\n",
		d.losses[true], d.losses[false])
	fmt.Fprintf(out, "%d plans and %d table versions compared with the answers. Checked in %v, at most %v for an "+
		"operator.\n",
		r.plans, r.versions, r.checking.Round(time.Millisecond), r.longest.Round(time.Millisecond))
	if len(r.faults) == 0 {
		fmt.Fprintf(out, "Linearizable, but for what a database lost; nothing doubled or left behind; all routers at "+
			"the newest table.\n")
		return
	}
	fmt.Fprintf(out, "VIOLATED:\n%s\n", strings.Join(r.faults, "\n"))
}
