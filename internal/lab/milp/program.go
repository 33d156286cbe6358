// Package milp gives tests the true optimum of a mixed integer linear program, or bounds on
// it, from a general solver: Debian's cbc. It knows nothing of what is planned.
//
// Without the solver tests are skipped, or fail if PLANNERD_REQUIRE_CBC is "1".
package milp

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"
)

// Status says what the solver came to.
type Status string

// The statuses.
const (
	Optimal    Status = "optimal"    // the values are proven to be the best
	Feasible   Status = "feasible"   // the values meet all constraints; time ran out
	Infeasible Status = "infeasible" // proven: no values do
	Unknown    Status = "unknown"    // time ran out
)

// Solution is the solver's answer.
type Solution struct {
	Status Status
	// Objective is that of the values. Bound is what the solver has proven no values to be
	// below, within its tolerance of 1e-6 of the figure; 0 when it has proven nothing.
	Objective, Bound float64
	Values           []int64       // by variable, rounded; only if Optimal or Feasible
	Time             time.Duration // of the solver alone, reading its input included
}

// Require skips the test when the solver is not installed, or fails it when it
// has to be.
func Require(t testing.TB) {
	t.Helper()
	_, err := exec.LookPath(solver)
	switch {
	case err == nil:
	case os.Getenv("PLANNERD_REQUIRE_CBC") == "1": //nolint:forbidigo // support for tests
		t.Fatal("no solver found: install coinor-cbc")
	default:
		t.Skip("no solver found: install coinor-cbc (on Debian and Ubuntu: apt-get install coinor-cbc)")
	}
}

// Program is one of variables from 0 on, which are numbered from 0. Its objective is minimised.
type Program struct {
	variables []decision
	rows      []row
}

// decision is a variable.
type decision struct {
	coefficient float64
	most        int64
	continuous  bool
}

// row says Σ coefficient·variable ≤ limit, or = limit.
type row struct {
	coefficients map[int]float64
	limit        float64
	exact        bool
}

// Count adds a whole number of at most so much, and returns the variable's number. Its
// coefficient in the objective is not negative.
func (p *Program) Count(coefficient float64, most int64) int {
	p.variables = append(p.variables, decision{coefficient: coefficient, most: most})
	return len(p.variables) - 1
}

// Variable adds one that is 0 or 1.
func (p *Program) Variable(coefficient float64) int { return p.Count(coefficient, 1) }

// Fraction adds one that may have any value from 0 to 1.
func (p *Program) Fraction(coefficient float64) int {
	v := p.Variable(coefficient)
	p.variables[v].continuous = true
	return v
}

// AtMost demands that the variables, times their coefficients, do not exceed a limit.
func (p *Program) AtMost(limit float64, coefficients map[int]float64) {
	p.rows = append(p.rows, row{coefficients, limit, false})
}

// Exactly demands that they reach it exactly.
func (p *Program) Exactly(limit float64, coefficients map[int]float64) {
	p.rows = append(p.rows, row{coefficients, limit, true})
}

// text is the program in the LP format. Numbers are exact.
func (p *Program) text() []byte {
	var l lpText
	l.print("Minimize\nobj:")
	objective := map[int]float64{}
	for v, x := range p.variables {
		objective[v] = x.coefficient
	}
	l.terms(objective)
	l.print("\nSubject To\n")
	for n, r := range p.rows {
		l.print("r", strconv.Itoa(n), ":")
		l.terms(r.coefficients)
		sign := " <= "
		if r.exact {
			sign = " = "
		}
		l.print(sign, number(r.limit), "\n")
	}
	l.print("Bounds\n")
	for v, x := range p.variables {
		l.print("0 <= ", name(v), " <= ", strconv.FormatInt(x.most, 10), "\n")
	}
	l.print("Generals\n")
	for v, x := range p.variables {
		if !x.continuous {
			l.print(name(v), "\n")
		}
	}
	l.print("End\n")
	return l.Bytes()
}

type lpText struct{ bytes.Buffer }

func (l *lpText) print(words ...string) {
	for _, w := range words {
		l.WriteString(w)
	}
}

func (l *lpText) terms(coefficients map[int]float64) {
	for i, v := range slices.Sorted(maps.Keys(coefficients)) { // the solver is not to depend on chance
		if i%8 == 7 {
			l.print("\n") // the solver reads lines of limited length
		}
		sign, c := " + ", coefficients[v]
		if c < 0 {
			sign, c = " - ", -c
		}
		l.print(sign, number(c), " ", name(v))
	}
}

func number(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

func name(v int) string { return "y" + strconv.Itoa(v) }
