package milp

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// grace is how long the solver may take beyond its limit, which it does not
// watch all the time.
const grace = 30 * time.Second

// solver is the program that solves.
const solver = "cbc"

// Solve lets the solver loose on the program, on a single thread and for a gap of 0. An error
// means that it could not be run.
func (p *Program) Solve(ctx context.Context, limit time.Duration) (Solution, error) {
	dir, err := os.MkdirTemp("", "milp")
	if err != nil {
		return Solution{}, err
	}
	defer os.RemoveAll(dir)
	model, solution := filepath.Join(dir, "model.lp"), filepath.Join(dir, "solution")
	if err := os.WriteFile(model, p.text(), 0o600); err != nil {
		return Solution{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, limit+grace)
	defer cancel()
	seconds := strconv.FormatFloat(limit.Seconds(), 'f', 3, 64)
	command := exec.CommandContext(ctx, solver, model, "-sec", seconds, "-timeMode", "elapsed",
		"-ratioGap", "0", "-allowableGap", "0", "-increment", "0", "-solve", "-solution", solution)
	start := time.Now()
	output, err := command.CombinedOutput()
	took := time.Since(start)
	if err != nil {
		return Solution{}, fmt.Errorf("milp: %s: %w\n%s", solver, err, output)
	}
	text, err := os.ReadFile(solution)
	if err != nil {
		return Solution{}, fmt.Errorf("milp: %s wrote no solution: %w\n%s", solver, err, output)
	}
	a, err := parse(text, output, len(p.variables))
	if err != nil {
		return Solution{}, fmt.Errorf("%w\n%s", err, output)
	}
	if a.Time = took; a.Status == Infeasible && took >= limit*9/10 {
		a.Status = Unknown // the solver says so of what it did not come to the end of, too
	}
	return a, nil
}

// parse reads the solution file, whose first line says how it ended, and the
// solver's log.
func parse(solution, log []byte, variables int) (Solution, error) {
	lines := bufio.NewScanner(bytes.NewReader(solution))
	lines.Scan()
	head := lines.Text()
	a := Solution{Values: make([]int64, variables), Bound: logged(log, "Lower bound:", 0)}
	switch {
	case strings.HasPrefix(head, "Optimal"):
		a.Status = Optimal
	case strings.HasPrefix(head, "Infeasible"), strings.HasPrefix(head, "Integer infeasible"):
		return Solution{Status: Infeasible}, nil
	case strings.Contains(head, "no integer solution"), bytes.Contains(log, []byte("No feasible solution found")):
		return Solution{Status: Unknown, Bound: a.Bound}, nil
	case strings.HasPrefix(head, "Stopped on time"):
		a.Status = Feasible
	default:
		return a, fmt.Errorf("milp: unknown outcome %q", head)
	}
	value, ok := strings.CutPrefix(head[strings.Index(head, "-")+1:], " objective value ")
	if !ok {
		return a, fmt.Errorf("milp: no objective in %q", head)
	}
	var err error
	if a.Objective, err = strconv.ParseFloat(strings.TrimSpace(value), 64); err != nil {
		return a, fmt.Errorf("milp: %w in %q", err, head)
	}
	if a.Status == Optimal {
		a.Bound = a.Objective
	}
	for lines.Scan() {
		if err := a.set(lines.Text()); err != nil {
			return a, err
		}
	}
	return a, lines.Err()
}

// set reads a line of the solution: index, name, value, reduced cost. Two
// asterisks before it mark a value out of its bounds.
func (a *Solution) set(line string) error {
	fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "**"))
	if len(fields) < 3 || fields[1][0] != 'y' {
		return nil
	}
	v, err := strconv.Atoi(fields[1][1:])
	if err != nil {
		return fmt.Errorf("milp: %w in %q", err, line)
	}
	x, err := strconv.ParseFloat(fields[2], 64)
	if err != nil {
		return fmt.Errorf("milp: %w in %q", err, line)
	}
	a.Values[v] = int64(math.Round(x))
	return nil
}

// logged finds a number in the solver's log.
func logged(log []byte, label string, otherwise float64) float64 {
	_, after, ok := bytes.Cut(log, []byte(label))
	if !ok {
		return otherwise
	}
	word, _, _ := strings.Cut(strings.TrimSpace(string(after)), "\n")
	x, err := strconv.ParseFloat(strings.TrimSpace(word), 64)
	if err != nil {
		return otherwise
	}
	return x
}
