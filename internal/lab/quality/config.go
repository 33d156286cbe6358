package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"plannerd/internal/lab/quality/cases"
	"plannerd/internal/lab/streams"
	"plannerd/planner"
)

// config is what the flags say.
type config struct {
	drives     []drive       // over streams
	drawn      []draw        // cases of families
	intervals  int           // measured of a stream
	strategies []string      // in the order of the report
	limit      time.Duration // of each plan
	yardsticks int           // sorts that are timed
	familyKeys int           // most keys of a case of a family
	efforts    []planner.Effort
	zones      int     // groups of keys that may be on some instances alone; 0: all may be on all
	memory     float64 // what instances have together, of all state; 0: any state may be anywhere
	seed       uint64  // of the families, and of the zones
}

// draw is a case of a family that is to be drawn.
type draw struct {
	family cases.Family
	seed   uint64
}

// The combinations of instances and table limits under which streams are planned.
var (
	driveInstances = []int{5, 15, 40}
	driveTables    = []int64{300, 3000}
)

// maxKeys spares the strategies that take long on many keys.
var maxKeys = map[string]int{"mixed_bf": 5e4, "readj": 1e5, "lpt": 1e5}

// parseFlags reads the command line.
func parseFlags(args []string, stderr io.Writer) (*config, error) {
	c := &config{}
	flags := flag.NewFlagSet("quality", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&c.intervals, "intervals", math.MaxInt, "most measured intervals of a stream")
	families := flags.Uint64("families", 0, "also measure so many cases of each family, drawn from the seed on")
	flags.IntVar(&c.familyKeys, "family-keys", 1e5, "most keys of a case of a family")
	flags.Uint64Var(&c.seed, "seed", 1, "the first of the families, and of zones")
	flags.IntVar(&c.zones, "zones", 0, "groups of the keys of streams, each of which may be on some instances alone")
	flags.Float64Var(&c.memory, "memory", 0, "limit the state on each instance to an even share of so many times "+
		"all state")
	noStreams := flags.Bool("no-streams", false, "leave the streams out")
	folder := flags.String("streams", streams.BesideProject, "folder of recorded streams, beside the own ones")
	only := flags.String("stream", "", "only streams whose name begins so, e.g. own,baby_names")
	strategies := flags.String("strategies", "", "strategies to measure (default all)")
	efforts := flags.String("effort", string(planner.EffortNormal), "efforts of optimal, e.g. fast,thorough; the last "+
		"one is carried on and judged, and of several the gap is shown against the work")
	flags.DurationVar(&c.limit, "limit", 10*time.Second, "time limit of each plan")
	flags.IntVar(&c.yardsticks, "sorts", 5, "sorts of a million numbers that are timed, the yardstick")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if err := c.choose(*strategies, *efforts); err != nil {
		return nil, err
	}
	if !*noStreams {
		all, err := streams.With(*folder)
		if err != nil {
			return nil, err
		}
		for _, s := range all {
			if slices.ContainsFunc(strings.Split(*only, ","), func(p string) bool { return strings.HasPrefix(s.Name, p) }) {
				c.drives = append(c.drives, drivesOf(s)...)
			}
		}
	}
	for i := range *families {
		for _, family := range cases.Families {
			c.drawn = append(c.drawn, draw{family, c.seed + i})
		}
	}
	if len(c.drives)+len(c.drawn) == 0 || c.intervals < 1 || c.yardsticks < 1 {
		return nil, errors.New("nothing to measure")
	}
	return c, nil
}

// choose checks the names of strategies and efforts.
func (c *config) choose(strategies, efforts string) error {
	for _, s := range planner.Strategies() {
		c.strategies = append(c.strategies, s.Name)
	}
	if strategies != "" {
		known := c.strategies
		c.strategies = strings.Split(strategies, ",")
		for _, name := range c.strategies {
			if !slices.Contains(known, name) {
				return fmt.Errorf("there is no strategy %q; there are %s", name, strings.Join(known, ", "))
			}
		}
	}
	for name := range strings.SplitSeq(efforts, ",") {
		if err := (planner.Options{Effort: planner.Effort(name)}).Validate(); err != nil || name == "" {
			return fmt.Errorf("-effort %q: %w", name, err)
		}
		c.efforts = append(c.efforts, planner.Effort(name))
	}
	return nil
}

// attempt is one run of a strategy on a case.
type attempt struct {
	label, strategy string
	level           planner.CertificateLevel
	effort          planner.Effort
}

// attempts are those of a strategy at each case: one of each effort, if it reads it.
func (c *config) attempts(strategy string) []attempt {
	one := attempt{label: strategy, strategy: strategy, level: planner.CertificateFast}
	if info, _ := planner.Lookup(strategy); !info.DependsOn("effort") {
		return []attempt{one}
	}
	var all []attempt
	for _, effort := range c.efforts {
		a := one
		a.effort = effort
		if len(c.efforts) > 1 {
			a.label += "/" + string(effort)
		}
		all = append(all, a)
	}
	return all
}

// last is the attempt of strategy optimal that counts: its plan is carried on, and held
// against the bound.
func (c *config) last() attempt {
	all := c.attempts(planner.Optimal)
	return all[len(all)-1]
}

// judged is the label of what is held against the bound.
func (c *config) judged() string {
	if !slices.Contains(c.strategies, planner.Optimal) {
		return reference
	}
	return c.last().label
}
