package api

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"plannerd/api/wire"
	"plannerd/internal/parameters"
	"plannerd/internal/planning"
	"plannerd/planner"
	"plannerd/planner/ranges"
	"plannerd/planner/ring"
)

// readConfiguration fills in the defaults of a configuration that is within the
// contract, and checks what the contract cannot say. prefix is the JSON pointer of the
// configuration in the body, longest the greatest deadline.
func readConfiguration(in operatorRequest, prefix string, longest time.Duration) (planning.Configuration, error) {
	if err := checkRules(in.OperatorConfiguration, prefix); err != nil {
		return planning.Configuration{}, err
	}
	if err := checkScheme(in, prefix); err != nil {
		return planning.Configuration{}, err
	}
	c, err := configurationOf(in, longest)
	if err == nil {
		c, err = planning.NewConfiguration(c)
	}
	var input *planner.InputError
	if errors.As(err, &input) {
		err = invalid().With(prefix+"/"+input.Field, input.Detail)
	}
	return c, err
}

// configurationOf fills in the defaults of a configuration. The error is a
// [planner.InputError].
func configurationOf(in operatorRequest, longest time.Duration) (c planning.Configuration, err error) {
	c.Values = in.values()
	if err := c.CheckDeadline(longest); err != nil {
		return c, err
	}
	c.Scheme = planning.SchemeName(or(in.Scheme, wire.SchemeTable))
	c.Strategy = string(or(in.Strategy, planning.DefaultStrategy))
	c.TableOwner = planning.TableOwner(or(in.TableOwner, wire.Planner))
	c.StoreInputs = or(in.StoreInputs, true)
	h := or(in.Hash, wire.Hash{})
	c.Hash = planning.Hash{
		Function:          string(or(h.Function, planning.DefaultHashFunction)),
		TokensPerInstance: int(or(h.TokensPerInstance, 0)),
		MaxParallelism:    int(or(h.MaxParallelism, 0)),
		KeyType:           string(or(h.KeyType, "")),
		Partitions:        int(or(h.Partitions, 0)),
		Assignment:        or(h.Assignment, nil),
	}
	for _, d := range in.Instances {
		c.Instances = append(c.Instances, planning.Instance{ID: d.Id, Capacity: or(d.Capacity, 1), Tokens: int(or(d.Tokens, 0))})
	}
	c.RequireApproval = or(in.RequireApproval, false)
	a := or(in.Approval, wire.ApprovalOptions{})
	c.Approval.OnPending = planning.OnPending(or(a.OnPending, ""))
	if a.Ttl != nil {
		if c.Approval.TTL, err = planning.ParseTTL(*a.Ttl); err != nil {
			return c, err
		}
	}
	t := or(in.Trigger, wire.Trigger{})
	c.Trigger = planning.Trigger{Theta: or(t.Theta, c.ThetaMax), CooldownIntervals: or(t.CooldownIntervals, 0)}
	r := or(in.Reports, wire.ReportOptions{})
	c.Reports = planning.ReportOptions{
		Missing: planning.MissingReports(or(r.Missing, wire.MissingReports(planning.DefaultMissing))),
		MaxAge:  or(r.MaxAge, planning.DefaultReportAge),
	}
	k := or(in.Retention, wire.Retention{})
	c.Retention = planning.Retention{
		Inputs:   int(or(k.Inputs, planning.DefaultKeptInputs)),
		Plans:    int(or(k.Plans, planning.DefaultKeptPlans)),
		Versions: int(or(k.Versions, planning.DefaultKeptVersions)),
	}
	switch c.Scheme {
	case planning.SchemeRing:
		c.Ring = ringParametersOf(or(in.Ring, wire.RingOptions{}))
	case planning.SchemeRanges:
		c.Ranges = rangesParametersOf(or(in.Ranges, wire.RangesOptions{}))
	}
	return c, nil
}

func ringParametersOf(in wire.RingOptions) *planning.RingParameters {
	p := &planning.RingParameters{Method: ring.Method(or(in.Method, wire.RingMethod(ring.Halving)))}
	if p.Method != ring.Fitted {
		tau := or(in.Tau, ring.DefaultTau)
		p.Tau, p.MaxRounds = &tau, int(or(in.MaxRounds, ring.DefaultMaxRounds))
	}
	return p
}

func rangesParametersOf(in wire.RangesOptions) *planning.RangesParameters {
	p := &planning.RangesParameters{Method: ranges.Method(or(in.Method, wire.RangesMethod(ranges.MinMovement)))}
	if p.Method != ranges.Quantile {
		p.MaxIntervals = int(or(in.MaxIntervals, ranges.DefaultMaxIntervals))
	}
	return p
}

// checkScheme refuses what means nothing under the scheme of a configuration.
func checkScheme(in operatorRequest, prefix string) error {
	scheme, bad := or(in.Scheme, wire.SchemeTable), invalid()
	said := map[string]bool{} // an object is refused once
	refuse := func(given bool, field, detail string) {
		if given && !said[field] {
			said[field] = true
			bad.At(prefix+"/"+field, detail)
		}
	}
	under := "means nothing under the scheme " + string(scheme)
	for _, p := range parameters.All() {
		name, _, _ := strings.Cut(p.Name, "/")
		refuse(in.given(name) && !p.KnownTo(string(scheme)), name, under)
	}
	if scheme != wire.SchemeTable {
		refuse(in.Strategy != nil, "strategy", under)
		refuse(in.TableOwner != nil, "table_owner", under)
	}
	h, r, q := or(in.Hash, wire.Hash{}), or(in.Ring, wire.RingOptions{}), or(in.Ranges, wire.RangesOptions{})
	refuse(scheme == wire.SchemeRing && or(h.Function, wire.HashFunctionRing) != wire.HashFunctionRing, "hash/function", "must be ring under the scheme ring")
	refuse(scheme == wire.SchemeRanges && in.Hash != nil, "hash", under)
	refuse(scheme == wire.SchemeRanges && len(in.Instances) > planning.MaxRangesInstances, "instances",
		"must be at most "+strconv.Itoa(planning.MaxRangesInstances)+" under the scheme ranges")
	if ringParametersOf(r).Method == ring.Fitted {
		refuse(r.Tau != nil, "ring/tau", "means nothing with the method fitted")
		refuse(r.MaxRounds != nil, "ring/max_rounds", "means nothing with the method fitted")
	}
	if rangesParametersOf(q).Method == ranges.Quantile {
		refuse(q.MaxIntervals != nil, "ranges/max_intervals", "means nothing with the method quantile")
	}
	return bad.OrNil()
}
