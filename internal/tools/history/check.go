package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// shrinkTime bounds how long a violation is made smaller.
const shrinkTime = 20 * time.Second

// check looks for an order of the operations that the model explains. The fault
// is empty if there is one.
func (h *history) check(operations []porcupine.Operation, limit time.Duration, visualization string) (fault string, err error) {
	m := h.model.porcupine()
	switch result, info := porcupine.CheckOperationsVerbose(m, operations, limit); result {
	case porcupine.Ok:
		return "", nil
	case porcupine.Unknown:
		return fmt.Sprintf("%s: not decided within %v:\n%s", h.operator, limit, explain(m, operations, info)), nil
	}
	small := shrink(m, operations, time.Now().Add(shrinkTime))
	_, info := porcupine.CheckOperationsVerbose(m, small, limit)
	if visualization != "" {
		err = porcupine.VisualizePath(m, info, visualization)
	}
	return fmt.Sprintf("%s: no order of the operations explains the answers:\n%s", h.operator, explain(m, small, info)), err
}

// shrink leaves out operations that changed nothing, as long as no order explains
// the rest. Those that may have changed something have to stay.
func shrink(m porcupine.Model, operations []porcupine.Operation, until time.Time) []porcupine.Operation {
	for chunk := len(operations); chunk > 0; chunk /= 2 {
		for from := 0; from < len(operations) && time.Now().Before(until); {
			to := min(from+chunk, len(operations))
			fewer := slices.Clone(operations[:from])
			for _, o := range operations[from:to] {
				if changes(o) {
					fewer = append(fewer, o)
				}
			}
			kept := len(fewer)
			fewer = append(fewer, operations[to:]...)
			if len(fewer) < len(operations) && porcupine.CheckOperationsTimeout(m, fewer, time.Until(until)) == porcupine.Illegal {
				operations, from = fewer, kept
			} else {
				from = to
			}
		}
	}
	return operations
}

// changes reports whether an operation may have changed something.
func changes(o porcupine.Operation) bool {
	q, a := o.Input.(request), o.Output.(*answer)
	return !q.kind.reads() && (a.outcome == unknown || a.status == 201 || a.status == 200 && q.kind != createPlan)
}

// shownOperations is how many operations of a violation are printed.
const shownOperations = 40

// explain shows how far an order goes, and the operations around its end.
func explain(m porcupine.Model, operations []porcupine.Operation, info porcupine.LinearizationInfo) string {
	var (
		longest []porcupine.Operation
		text    strings.Builder
	)
	for _, order := range info.PartialLinearizationsOperations()[0] {
		if len(order) > len(longest) {
			longest = order
		}
	}
	s := m.Init()
	done := map[string]bool{}
	for _, o := range longest {
		_, s = m.Step(s, o.Input, o.Output)
		done[line(m, o)] = true
	}
	var rest []porcupine.Operation
	for _, o := range operations {
		if !done[line(m, o)] {
			rest = append(rest, o)
		}
	}
	byEnd := func(a, b porcupine.Operation) int { return cmp.Compare(a.Return, b.Return) }
	fmt.Fprintf(&text, "an order of %d of %d operations ends in\n  %s\nafter\n", len(longest), len(operations), m.DescribeState(s))
	for _, o := range longest[max(0, len(longest)-shownOperations/2):] {
		fmt.Fprintf(&text, "  %s\n", line(m, o))
	}
	fmt.Fprintf(&text, "and none of these can follow before the first of them has ended\n")
	slices.SortFunc(rest, byEnd)
	for _, o := range rest[:min(len(rest), shownOperations/2)] {
		fmt.Fprintf(&text, "  %s\n", line(m, o))
	}
	return text.String()
}

// line describes an operation.
func line(m porcupine.Model, o porcupine.Operation) string {
	end := "never"
	if o.Return != never {
		end = fmt.Sprintf("%.3f", float64(o.Return)/1e6)
	}
	return fmt.Sprintf("[%.3f ms, %s] client %d: %s", float64(o.Call)/1e6, end, o.ClientId, m.DescribeOperation(o.Input, o.Output))
}
