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

// answer is what the solver says, in its own units.
type answer struct {
	status           Status
	objective, bound float64
	values           []int64 // of the variables
	time             time.Duration
}

// grace is how long the solver may take beyond its limit, which it does not
// watch all the time.
const grace = 30 * time.Second

// run lets the solver loose on f, on a single thread and for a gap of 0.
func run(ctx context.Context, f *formulation, limit time.Duration) (answer, error) {
	if f.impossible {
		return answer{status: Infeasible}, nil
	}
	dir, err := os.MkdirTemp("", "milp")
	if err != nil {
		return answer{}, err
	}
	defer os.RemoveAll(dir)
	model, solution := filepath.Join(dir, "model.lp"), filepath.Join(dir, "solution")
	if err := os.WriteFile(model, f.text(), 0o600); err != nil {
		return answer{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, limit+grace)
	defer cancel()
	seconds := strconv.FormatFloat(limit.Seconds(), 'f', 3, 64)
	command := exec.CommandContext(ctx, program, model, "-sec", seconds, "-timeMode", "elapsed",
		"-ratioGap", "0", "-allowableGap", "0", "-increment", "0", "-solve", "-solution", solution)
	start := time.Now()
	output, err := command.CombinedOutput()
	took := time.Since(start)
	if err != nil {
		return answer{}, fmt.Errorf("milp: %s: %w\n%s", program, err, output)
	}
	text, err := os.ReadFile(solution)
	if err != nil {
		return answer{}, fmt.Errorf("milp: %s wrote no solution: %w\n%s", program, err, output)
	}
	a, err := parse(text, output, len(f.variables))
	if err != nil {
		return answer{}, fmt.Errorf("%w\n%s", err, output)
	}
	a.time = took
	return a, nil
}

// parse reads the solution file, whose first line says how it ended, and the
// solver's log.
func parse(solution, log []byte, variables int) (answer, error) {
	lines := bufio.NewScanner(bytes.NewReader(solution))
	lines.Scan()
	head := lines.Text()
	a := answer{values: make([]int64, variables), bound: logged(log, "Lower bound:", 0)}
	switch {
	case strings.HasPrefix(head, "Optimal"):
		a.status = Optimal
	case strings.HasPrefix(head, "Infeasible"), strings.HasPrefix(head, "Integer infeasible"):
		return answer{status: Infeasible}, nil
	case strings.Contains(head, "no integer solution"), bytes.Contains(log, []byte("No feasible solution found")):
		return answer{status: Unknown, bound: a.bound}, nil
	case strings.HasPrefix(head, "Stopped on time"):
		a.status = Feasible
	default:
		return a, fmt.Errorf("milp: unknown outcome %q", head)
	}
	value, ok := strings.CutPrefix(head[strings.Index(head, "-")+1:], " objective value ")
	if !ok {
		return a, fmt.Errorf("milp: no objective in %q", head)
	}
	var err error
	if a.objective, err = strconv.ParseFloat(strings.TrimSpace(value), 64); err != nil {
		return a, fmt.Errorf("milp: %w in %q", err, head)
	}
	if a.status == Optimal {
		a.bound = a.objective
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
func (a *answer) set(line string) error {
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
	a.values[v] = int64(math.Round(x))
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
