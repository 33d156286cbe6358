package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"plannerd/internal/lab/milp"
	"plannerd/internal/lab/quality/cases"
	"plannerd/internal/lab/streams"
	"plannerd/planner"
)

// config is what the flags say.
type config struct {
	settings []cases.Setting
	// intervals measured of a Zipf workload, of one of manyKeys, and of a stream.
	intervals, largeIntervals, streamIntervals int

	streams string // folder
	// strategies in the order of the report; commit is the one carried on.
	strategies []string
	commit     string
	limit      time.Duration  // of each plan
	maxKeys    map[string]int // strategies that skip larger snapshots
	settled    bool           // cases with nothing to do count
	milp       time.Duration  // time limit of the solver; 0: it does not run
	milpKeys   int            // most keys that it is tried on
	yardsticks int            // sorts that are timed
	// ablate: strategy optimal also runs without each of its components.
	ablate bool
	// disturb: strategy optimal also runs on cases of families with other names of keys, and
	// with idle keys.
	disturb    bool
	familyKeys int // most keys of a case of a family
	variants   []variant
	figure     string  // file to draw the gap against work in; empty: none
	above      float64 // the solver runs on cases of a greater ratio; 0: on all
}

// defaultMaxKeys spares the strategies that take long on many keys.
const defaultMaxKeys = "mixed_bf=5e4,readj=1e5,lpt=1e5"

// manyKeys is from which K on a setting counts as large.
const manyKeys = 1_000_000

// quickIntervals are measured by -quick.
const quickIntervals = 4

// lists are the flags that span the grid and the streams.
type lists struct {
	keys, instances, windows list[int]
	thetas, fluctuations     list[float64]
	tables                   list[int64]
	only                     list[string]
}

// parseFlags reads the command line.
func parseFlags(args []string, stderr io.Writer) (*config, error) {
	c := &config{}
	l := lists{
		keys: newList(parseInt), instances: newList(parseInt), windows: newList(parseInt),
		thetas: newList(parseFloat), fluctuations: newList(parseFloat),
		tables: newList(parseInt64), only: newList(parseString),
	}
	strategies, maxKeys := newList(parseString), newList(parseString)
	flags := flag.NewFlagSet("quality", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Var(&l.keys, "keys", "K of the grid, e.g. 5e3,1e4 (default 5e3,1e4,1e5,1e6)")
	flags.Var(&l.instances, "instances", "N_D (default 5,15,40)")
	flags.Var(&l.thetas, "theta", "θ_max (default 0.02,0.08,0.2; streams 0.08)")
	flags.Var(&l.tables, "table", "A_max (default 300,3000)")
	flags.Var(&l.windows, "window", "w of the grid, in intervals (default 1,5)")
	flags.Var(&l.fluctuations, "fluctuation", "f of the grid (default 0.3,1)")
	flags.IntVar(&c.intervals, "intervals", 8,
		"measured intervals of each setting; streams are measured whole unless this is given")
	flags.IntVar(&c.largeIntervals, "large-intervals", 3,
		"measured intervals, if fewer, of settings of a million keys and more")
	flags.BoolVar(&c.ablate, "ablate", false, "also run optimal without each of its components, one at a time")
	flags.BoolVar(&c.disturb, "disturb", false, "also put the cases of families to optimal with other names of keys, "+
		"and with as many more keys that cost nothing")
	families := flags.Uint64("families", 0, "also measure so many cases of each family, drawn from the seed on")
	efforts, budgets := c.workFlags(flags)
	flags.IntVar(&c.familyKeys, "family-keys", 1e5, "most keys of a case of a family")
	seed := flags.Uint64("seed", 1, "of the grid's workloads, and the first of the families")
	noGrid := flags.Bool("no-grid", false, "leave the grid out")
	noStreams := flags.Bool("no-streams", false, "leave the streams out")
	flags.StringVar(&c.streams, "streams", streams.BesideProject, "folder of recorded streams, beside the own ones")
	flags.Var(&l.only, "stream", "only streams whose name begins so, e.g. own,baby_names")
	flags.Var(&strategies, "strategies", "strategies to measure (default all)")
	flags.StringVar(&c.commit, "commit", planner.Optimal, "strategy whose plan is carried on to the next interval")
	flags.DurationVar(&c.limit, "limit", 10*time.Second, "time limit of each plan")
	flags.Var(&maxKeys, "max-keys", "snapshots with more keys are skipped by that strategy, e.g. mixed_bf=1e6 (default, "+
		"for those not given, "+defaultMaxKeys+")")
	flags.BoolVar(&c.settled, "settled", false, "let cases with nothing to do count in the figures")
	flags.DurationVar(&c.milp, "milp", 0, "also run the MILP solver, under this time limit for each case")
	flags.IntVar(&c.milpKeys, "milp-keys", 5000, "most keys that the MILP solver is tried on")
	flags.IntVar(&c.yardsticks, "sorts", 5, "sorts of a million numbers that are timed, the yardstick")
	quick := flags.Bool("quick", false, "a small grid, no streams")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	switch {
	case flags.NArg() > 0:
		return nil, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case c.milp > 0 && !milp.Available():
		return nil, errors.New("-milp: there is no solver: install coinor-cbc")
	}
	c.streamIntervals = c.intervals
	if !isSet(flags, "intervals") {
		c.streamIntervals = math.MaxInt
		if *quick {
			c.intervals = quickIntervals
		}
	}
	*noStreams = *noStreams || *quick
	if err := cmp.Or(c.chooseStrategies(strategies.values, maxKeys.values),
		c.chooseVariants(efforts.values, budgets.values)); err != nil {
		return nil, err
	}
	if !*noGrid {
		c.settings = l.grid(*quick, *seed)
	}
	if !*noStreams {
		recorded, err := l.streams(c.streams, isSet(flags, "streams"))
		if err != nil {
			return nil, err
		}
		c.settings = append(c.settings, recorded...)
	}
	for i := range *families {
		for _, family := range cases.Families {
			c.settings = append(c.settings, cases.Setting{Family: family, Seed: *seed + i})
		}
	}
	if len(c.settings) == 0 || c.intervals < 1 || c.largeIntervals < 1 || c.yardsticks < 1 {
		return nil, errors.New("nothing to measure")
	}
	return c, nil
}

func isSet(flags *flag.FlagSet, name string) bool {
	found := false
	flags.Visit(func(f *flag.Flag) { found = found || f.Name == name })
	return found
}

// grid is the default one, or the quick one, with the axes that were given.
func (l *lists) grid(quick bool, seed uint64) []cases.Setting {
	g := cases.DefaultGrid()
	if quick {
		g = cases.QuickGrid()
	}
	g.Seed = seed
	l.keys.replace(&g.Keys)
	l.instances.replace(&g.Instances)
	l.thetas.replace(&g.Thetas)
	l.tables.replace(&g.Tables)
	l.windows.replace(&g.Windows)
	l.fluctuations.replace(&g.Fluctuations)
	return g.Settings()
}

// streams lists the settings of the streams: the own ones and those recorded in a
// folder, which must have some when it was named.
func (l *lists) streams(dir string, named bool) ([]cases.Setting, error) {
	names, err := cases.Streams(dir)
	if err != nil {
		return nil, err
	}
	if named && len(names) == len(streams.Own()) {
		return nil, fmt.Errorf("no streams in %s: see -streams and -no-streams", dir)
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		return len(l.only.values) > 0 && !slices.ContainsFunc(l.only.values,
			func(p string) bool { return strings.HasPrefix(name, p) })
	})
	instances, thetas, tables := []int{5, 15, 40}, []float64{planner.DefaultThetaMax}, []int64{300, 3000}
	l.instances.replace(&instances)
	l.thetas.replace(&thetas)
	l.tables.replace(&tables)
	return cases.StreamSettings(names, instances, thetas, tables), nil
}

// chooseStrategies checks the names of strategies.
func (c *config) chooseStrategies(names, maxKeys []string) error {
	known := make([]string, 0, len(planner.Strategies()))
	for _, s := range planner.Strategies() {
		known = append(known, s.Name)
	}
	c.strategies = names
	if len(names) == 0 {
		c.strategies = known
	}
	maxKeys = append(strings.Split(defaultMaxKeys, ","), maxKeys...) // later ones win
	c.maxKeys = make(map[string]int, len(maxKeys))
	named := append([]string{c.commit}, c.strategies...)
	for _, m := range maxKeys {
		name, number, _ := strings.Cut(m, "=")
		n, err := parseInt(number)
		if err != nil {
			return fmt.Errorf("-max-keys %s: want strategy=number", m)
		}
		c.maxKeys[name] = n
		named = append(named, name)
	}
	for _, name := range named {
		if !slices.Contains(known, name) {
			return fmt.Errorf("there is no strategy %q; there are %s", name, strings.Join(known, ", "))
		}
	}
	return nil
}

// measured is how many intervals of a setting are measured, if it has as many.
func (c *config) measured(s cases.Setting) int {
	switch {
	case s.Stream != "":
		return c.streamIntervals
	case s.Keys >= manyKeys:
		return min(c.intervals, c.largeIntervals)
	}
	return c.intervals
}

// skips tells whether the strategy leaves out snapshots of that many keys.
func (c *config) skips(strategy string, keys int) bool {
	most, ok := c.maxKeys[strategy]
	return ok && keys > most
}

// list is a flag of comma-separated values.
type list[T any] struct {
	values []T
	parse  func(string) (T, error)
}

func newList[T any](parse func(string) (T, error)) list[T] { return list[T]{parse: parse} }

// String is what package flag shows as the default.
func (l *list[T]) String() string { return "" }

// Set reads the values.
func (l *list[T]) Set(text string) error {
	l.values = nil
	for part := range strings.SplitSeq(text, ",") {
		v, err := l.parse(part)
		if err != nil {
			return err
		}
		l.values = append(l.values, v)
	}
	return nil
}

// replace puts the values, if any were given, in place of the default.
func (l *list[T]) replace(values *[]T) {
	if len(l.values) > 0 {
		*values = l.values
	}
}

func parseString(s string) (string, error) {
	if s == "" {
		return "", errors.New("an empty name")
	}
	return s, nil
}

func parseFloat(s string) (float64, error) { return strconv.ParseFloat(s, 64) }

// parseInt64 reads whole numbers, 5e3 too.
func parseInt64(s string) (int64, error) {
	x, err := parseFloat(s)
	if err != nil || x < 0 || x != float64(int64(x)) {
		return 0, fmt.Errorf("%q is not a whole number ≥ 0", s)
	}
	return int64(x), nil
}

func parseInt(s string) (int, error) {
	n, err := parseInt64(s)
	return int(n), err
}
