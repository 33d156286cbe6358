package api

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"plannerd/api/wire"
	"plannerd/planner"
)

// strategyOptimal is the one strategy that knows objective min_imbalance.
const strategyOptimal = "optimal"

// parameters are those of one plan, with all defaults filled in.
type parameters struct {
	ThetaMax       float64                  `json:"theta_max"`
	TableLimit     *int64                   `json:"table_limit"`
	Beta           float64                  `json:"beta"`
	KeyOverhead    float64                  `json:"key_overhead"`
	Certificate    planner.CertificateLevel `json:"certificate"`
	Objective      planner.Objective        `json:"objective"`
	MigrationLimit *wire.MigrationLimit     `json:"migration_limit"`
	WorkBudget     int64                    `json:"work_budget"`
	Deadline       *duration                `json:"deadline"`
	Compact        compactParameters        `json:"compact"`
	Ring           *ringParameters          `json:"ring,omitzero"`   // of scheme ring only
	Ranges         *rangesParameters        `json:"ranges,omitzero"` // of scheme ranges only
}

// duration is a time.Duration that JSON spells as 1m30s.
type duration time.Duration

// MarshalText implements [encoding.TextMarshaler].
func (d duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText is the inverse of MarshalText.
func (d *duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	*d = duration(v)
	return err
}

// shortestDeadline is the least that a client may ask for.
const shortestDeadline = time.Millisecond

// parseDeadline reads a deadline that is within the contract; nil is none.
func parseDeadline(text *string, longest time.Duration) (*duration, error) {
	if text == nil {
		return nil, nil
	}
	d := new(duration)
	if err := d.UnmarshalText([]byte(*text)); err != nil || *d < duration(shortestDeadline) || *d > duration(longest) {
		return nil, &planner.InputError{Row: -1, Field: "deadline", Detail: fmt.Sprintf("must be from %v to %v", shortestDeadline, longest)}
	}
	return d, nil
}

// parametersOf fills in the defaults of a configuration's parameters. The error
// is a [planner.InputError].
func parametersOf(in wire.OperatorConfiguration, longest time.Duration) (parameters, error) {
	p := parameters{
		ThetaMax:       or(in.ThetaMax, planner.DefaultThetaMax),
		TableLimit:     in.TableLimit,
		Beta:           or(in.Beta, planner.DefaultBeta),
		KeyOverhead:    or(in.KeyOverhead, 0),
		Certificate:    planner.CertificateLevel(or(in.Certificate, wire.Fast)),
		Objective:      planner.Objective(or(in.Objective, wire.MinMigration)),
		MigrationLimit: in.MigrationLimit,
		WorkBudget:     or(in.WorkBudget, 0),
		Compact:        compactOf(or(in.Compact, wire.Compact{})),
	}
	var err error
	p.Deadline, err = parseDeadline(in.Deadline, longest)
	return p, err
}

// options returns the parameters as the planner takes them, without Stop.
func (p parameters) options() planner.Options {
	return planner.Options{
		ThetaMax: p.ThetaMax, TableLimit: p.TableLimit, Beta: &p.Beta, KeyOverhead: p.KeyOverhead,
		Certificate: p.Certificate, Objective: p.Objective, MigrationLimit: plannerLimit(p.MigrationLimit), WorkBudget: p.WorkBudget,
	}
}

// time is how long a plan may take.
func (p parameters) time(longest time.Duration) time.Duration {
	if p.Deadline == nil {
		return longest
	}
	return min(longest, time.Duration(*p.Deadline))
}

func plannerLimit(l *wire.MigrationLimit) *planner.MigrationLimit {
	switch {
	case l == nil:
		return nil
	case l.State != nil:
		return &planner.MigrationLimit{Unit: planner.MigrationState, Amount: *l.State}
	case l.Fraction != nil:
		return &planner.MigrationLimit{Unit: planner.MigrationFraction, Amount: *l.Fraction}
	}
	return &planner.MigrationLimit{Unit: planner.MigrationKeys, Amount: float64(or(l.Keys, 0))}
}

// check finds what is wrong with the parameters together, under that strategy.
func (p parameters) check(strategy string) error {
	if err := p.options().Validate(); err != nil {
		return err
	}
	if !knows(strategy, p.Objective) {
		return &planner.InputError{Row: -1, Field: "objective", Detail: onlyOptimal}
	}
	return p.Compact.check()
}

const onlyOptimal = "min_imbalance is known to strategy " + strategyOptimal + " only"

func knows(strategy string, o planner.Objective) bool {
	return o != planner.MinImbalance || strategy == strategyOptimal
}

// trial is one thing that a what-if plans.
type trial struct {
	strategy string
	parameters
}

// trials returns the combinations of strategies and parameter values, the last
// parameter varying fastest. What the grid leaves out is as in p. Migration
// limits combine with min_imbalance only, and that with strategy optimal only;
// what is then never planned, or leaves a strategy nothing, is refused.
func (m *members) trials(strategies []string, p parameters, longest time.Duration) []trial {
	g := m.grid()
	objectives := orOne(g.Objective, string(p.Objective))
	limits := orOne(g.MigrationLimit, p.MigrationLimit)
	imbalance := slices.Contains(objectives, string(planner.MinImbalance))
	given := func(l *wire.MigrationLimit) bool { return l != nil }
	switch {
	case imbalance && (!slices.Contains(strategies, strategyOptimal) || len(objectives) == 1 && len(strategies) > 1):
		m.refuseParameter("objective", onlyOptimal)
	case imbalance && slices.Contains(limits, nil):
		m.refuseParameter("migration_limit", "is needed with objective min_imbalance")
	case !imbalance && slices.ContainsFunc(g.MigrationLimit, given):
		m.refuseParameter("migration_limit", "belongs to objective min_imbalance")
	}
	deadlines := m.deadlines(g.Deadline, longest)
	m.checkDegrees(g.CompactDegree)
	combinations := len(strategies) * max(1, len(g.ThetaMax)) * max(1, len(g.TableLimit)) * max(1, len(g.Beta)) * max(1, len(g.KeyOverhead)) *
		max(1, len(g.Certificate)) * len(objectives) * max(1, len(g.MigrationLimit)) * max(1, len(g.WorkBudget)) * max(1, len(g.Deadline)) *
		max(1, len(g.CompactDegree))
	if combinations > maxCombinations {
		m.refuse("strategies", fmt.Sprintf("and parameters make %d combinations; at most %d are planned", combinations, maxCombinations))
	}
	if len(m.bad.errors) > 0 {
		return nil
	}
	var out []trial
	for _, strategy := range strategies {
		all := expand([]parameters{p}, g.ThetaMax, func(p *parameters, v float64) { p.ThetaMax = v })
		all = expand(all, g.TableLimit, func(p *parameters, v *int64) { p.TableLimit = v })
		all = expand(all, g.Beta, func(p *parameters, v float64) { p.Beta = v })
		all = expand(all, g.KeyOverhead, func(p *parameters, v float64) { p.KeyOverhead = v })
		all = expand(all, g.Certificate, func(p *parameters, v string) { p.Certificate = planner.CertificateLevel(v) })
		all = expandObjectives(all, strategy, objectives, limits)
		all = expand(all, g.WorkBudget, func(p *parameters, v int64) { p.WorkBudget = v })
		all = expand(all, deadlines, func(p *parameters, v *duration) { p.Deadline = v })
		all = expand(all, g.CompactDegree, func(p *parameters, v int32) { p.Compact = p.Compact.at(v) })
		for _, p := range all {
			out = append(out, trial{strategy, p})
		}
	}
	return out
}

// expand puts every value into every parameter set; none leaves them as they are.
func expand[T any](in []parameters, values []T, set func(*parameters, T)) []parameters {
	if len(values) == 0 {
		return in
	}
	out := make([]parameters, 0, len(in)*len(values))
	for _, p := range in {
		for _, v := range values {
			one := p
			set(&one, v)
			out = append(out, one)
		}
	}
	return out
}

// expandObjectives is expand for objectives and migration limits.
func expandObjectives(in []parameters, strategy string, objectives []string, limits []*wire.MigrationLimit) []parameters {
	var out []parameters
	for _, p := range in {
		for _, o := range objectives {
			p.Objective, p.MigrationLimit = planner.Objective(o), nil
			switch {
			case p.Objective != planner.MinImbalance:
				out = append(out, p)
			case knows(strategy, p.Objective):
				out = append(out, expand([]parameters{p}, limits, func(p *parameters, v *wire.MigrationLimit) { p.MigrationLimit = v })...)
			}
		}
	}
	return out
}

func orOne[T any](values []T, fallback T) []T {
	if len(values) == 0 {
		return []T{fallback}
	}
	return values
}

// refuseParameter adds a problem with one of the parameters of a what-if.
func (m *members) refuseParameter(name, detail string) {
	if m.query == nil {
		name = "parameters/" + name
	}
	m.refuse(name, detail)
}

// grid reads the parameter values.
func (m *members) grid() wire.ParameterGrid {
	if m.query == nil {
		return or(member[wire.ParameterGrid](m, "parameters"), wire.ParameterGrid{})
	}
	g := wire.ParameterGrid{
		ThetaMax: list[float64](m, "theta_max"), Beta: list[float64](m, "beta"), KeyOverhead: list[float64](m, "key_overhead"),
		Certificate: list[string](m, "certificate"), Objective: list[string](m, "objective"),
		MigrationLimit: m.queriedLimits(), WorkBudget: list[int64](m, "work_budget"), CompactDegree: m.queriedDegrees(),
	}
	for _, n := range list[int64](m, "table_limit") {
		g.TableLimit = append(g.TableLimit, &n)
	}
	for _, d := range list[string](m, "deadline") {
		g.Deadline = append(g.Deadline, &d)
	}
	return g
}

// queriedLimits reads unit:amount, comma-separated.
func (m *members) queriedLimits() []*wire.MigrationLimit {
	var out []*wire.MigrationLimit
	for _, text := range list[string](m, "migration_limit") {
		l, ok := parseLimit(text)
		if !ok {
			m.refuse("migration_limit", "must be state:amount, fraction:0…1 or keys:number, each ≥ 0, comma-separated")
			return nil
		}
		out = append(out, l)
	}
	return out
}

func parseLimit(text string) (*wire.MigrationLimit, bool) {
	unit, amount, _ := strings.Cut(text, ":")
	var x float64
	var n int64
	switch planner.MigrationUnit(unit) {
	case planner.MigrationState:
		return &wire.MigrationLimit{State: &x}, parseScalar(amount, &x) && x >= 0
	case planner.MigrationFraction:
		return &wire.MigrationLimit{Fraction: &x}, parseScalar(amount, &x) && x >= 0 && x <= 1
	case planner.MigrationKeys:
		return &wire.MigrationLimit{Keys: &n}, parseScalar(amount, &n) && n >= 0 && n <= planner.MaxCount
	}
	return nil, false
}

// deadlines reads the deadlines of a grid.
func (m *members) deadlines(texts []*string, longest time.Duration) []*duration {
	var out []*duration
	for i, text := range texts {
		d, err := parseDeadline(text, longest)
		if input := (*planner.InputError)(nil); errors.As(err, &input) {
			name := "deadline"
			if m.query == nil && len(texts) > 1 {
				name = fmt.Sprintf("deadline/%d", i)
			}
			m.refuseParameter(name, input.Detail)
		}
		out = append(out, d)
	}
	return out
}
