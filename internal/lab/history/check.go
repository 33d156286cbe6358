package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// check looks for an order of the operations that the model explains. The fault
// is empty if there is one.
func (h *history) check(operations []porcupine.Operation, limit time.Duration,
	visualization string) (fault string, err error) {
	m := h.model.porcupine()
	result, info := porcupine.CheckOperationsVerbose(m, operations, limit)
	switch result {
	case porcupine.Ok:
		return "", nil
	case porcupine.Unknown:
		return fmt.Sprintf("%s: not decided within %v:\n%s", h.operator, limit, explain(m, operations, info)), nil
	}
	if visualization != "" {
		err = porcupine.VisualizePath(m, info, visualization)
	}
	return fmt.Sprintf("%s: no order of the operations explains the answers:\n%s", h.operator,
		explain(m, operations, info)), err
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
	fmt.Fprintf(&text, "an order of %d of %d operations ends in\n  %s\nafter\n", len(longest), len(operations),
		m.DescribeState(s))
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
	return fmt.Sprintf("[%.3f ms, %s] client %d: %s", float64(o.Call)/1e6, end, o.ClientId,
		m.DescribeOperation(o.Input, o.Output))
}
