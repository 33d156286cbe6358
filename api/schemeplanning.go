package api

import (
	"context"
	"errors"

	"plannerd/api/wire"
	"plannerd/internal/statsio"
	"plannerd/planner"
	"plannerd/store"
)

// readScheme reads what a plan of scheme ring or ranges starts from.
func (b *base) readScheme(table store.Table) (err error) {
	if b.layout, err = readLayout(b.pinned.configuration, table.Entries); err != nil {
		return err
	}
	b.stored = table.Entries
	has := b.layout.ids()
	for _, d := range b.newest.Instances {
		b.changed = b.changed || b.joins(has, d.ID)
		delete(has, d.ID)
	}
	b.changed = b.changed || len(has) > 0
	return nil
}

// joins reports whether an instance is new beside those that have a part in the
// layout.
func (b *base) joins(has map[int32]bool, id int32) bool {
	return b.layout.size() > 0 && !has[id] && !b.pinned.has(id)
}

// admitScheme refuses statistics that plans of scheme ring and ranges cannot be
// made of.
func (b *base) admitScheme(in *statistics) error {
	scheme := string(b.newest.Scheme)
	switch {
	case in.Partial:
		return incompleteForScheme(b.newest.Scheme)
	case in.records != nil || in.compact != nil:
		detail := "means nothing under the scheme " + scheme + ", where statistics are of keys"
		if in.query && in.compact != nil {
			return invalid().withParameter("compact_degree", detail)
		}
		return invalid().with(in.document.Pointer(-1, "compact"), detail)
	}
	return nil
}

func incompleteForScheme(scheme wire.Scheme) error {
	return conflict(wire.CodeCompleteCoverageRequired, "Under the scheme "+string(scheme)+" only complete statistics tell what moves.")
}

// planScheme plans the tokens or the ranges of an operator.
func (s *server) planScheme(ctx context.Context, b *base, in *statistics) (*outcome, error) {
	if !b.changed && b.layout.size() > 0 {
		stay, err := b.snapshot(in, b.layout, b.layout)
		if err != nil {
			return nil, err
		}
		switch cause, err := s.held(ctx, b, stay, in); {
		case err != nil:
			return nil, err
		case cause != "":
			return b.unmoved(stay, cause)
		}
	}
	release, err := take(ctx, s.slots)
	if err != nil {
		return nil, err
	}
	defer release()
	w := s.watch(ctx, b.newest.parameters)
	begin := s.now()
	_, end := s.tracing.start(ctx, "plan", "plannerd.strategy", b.newest.method())
	next, err := b.replan(in, w.stop)
	end(err)
	switch {
	case ctx.Err() != nil: // nobody waits for it any more
		return nil, ctx.Err()
	case errors.Is(err, planner.ErrStopped):
		stay, err := b.stay(in)
		if err != nil {
			return nil, err
		}
		out, err := b.unmoved(stay, causeUnfinished)
		if err == nil {
			out.EndReason = planner.EndStopped
		}
		return out, err
	case err != nil:
		return nil, err
	}
	s.metrics.planned(b.newest.method(), s.now().Sub(begin))
	return b.schemeOutcome(in, next)
}

// snapshot says where keys are by one layout and where they go by another.
func (b *base) snapshot(in *statistics, before, after layout) (*planner.Snapshot, error) {
	empty, err := planner.NewRoutingTable(nil)
	if err != nil {
		return nil, err
	}
	s, err := planner.NewSnapshot(in.Statistics,
		planner.Configuration{Instances: b.newest.planner.Instances, Hash: after.placed()},
		planner.Base{
			Configuration: planner.Configuration{Instances: b.pinned.planner.Instances, Hash: before.placed()},
			Table:         empty, HashChanged: true, IgnoreInstances: true, Stop: b.stop,
		})
	if err != nil || in.Instance == nil || in.outdated(b.op.TableVersion) {
		return s, err
	}
	index := make(map[int32]int32, len(s.Instances))
	for i, d := range s.Instances {
		index[d.ID] = int32(i)
	}
	for i, id := range in.Instance {
		if id == planner.NoInstance {
			continue
		}
		at, known := index[id]
		if !known {
			return nil, &planner.InputError{Row: i, Field: "instance", Detail: "is not a known instance"}
		}
		if at != s.Current[i] && b.layout.size() > 0 {
			s.Drifted++
		}
	}
	return s, nil
}

// stay is the snapshot of statistics of which nothing is to be planned: where keys
// would go makes no difference, but that it is there.
func (b *base) stay(in *statistics) (*planner.Snapshot, error) {
	anywhere := owners{{Low: []byte{}, Follower: b.newest.Instances[0].ID}}
	if b.layout.size() == 0 {
		return b.snapshot(in, anywhere, anywhere)
	}
	return b.snapshot(in, b.layout, anywhere)
}

// unmoved is the plan that leaves everything where it is.
func (b *base) unmoved(s *planner.Snapshot, cause planner.Cause) (*outcome, error) {
	p, err := planner.Inspect(s, planner.Options{ThetaMax: b.newest.ThetaMax, Certificate: planner.CertificateOff})
	if err != nil {
		return nil, err
	}
	p.Causes = []planner.Cause{cause}
	if b.layout.size() == 0 {
		toNobody(p)
	}
	return b.named(&outcome{Plan: p, shift: b.still()}, b.layout), nil
}

// named fills in what the plan says about its strategy and sizes.
func (b *base) named(o *outcome, after layout) *outcome {
	o.Strategy, o.Set, o.Unset = b.newest.method(), nil, nil
	o.TableBefore, o.TableAfter, o.TableWithinLimit = b.layout.size(), after.size(), true
	return o
}

// still is the shift that changes nothing.
func (b *base) still() shift {
	if o, ok := b.layout.(owners); ok {
		return rangesShift{statsio.RangesPlan{Owners: o.records()}}
	}
	return ringShift{}
}

// replanned is a new layout, and how it comes about.
type replanned struct {
	after layout
	shift shift
	cause planner.Cause // why it leaves some instance above its bound, if it does
	work  int64
	// certificate proves how little could have moved at best; nil: nothing is
	// proven.
	certificate func(judged *planner.Plan) *wire.Certificate
}

func (b *base) replan(in *statistics, stop func() bool) (*replanned, error) {
	if held, ok := b.layout.(tokens); ok {
		return b.replanRing(held, in, stop)
	}
	return b.replanRanges(b.layout.(owners), in, stop)
}

// schemeOutcome works out the figures of a new layout.
func (b *base) schemeOutcome(in *statistics, next *replanned) (*outcome, error) {
	before := b.layout
	created := before.size() == 0 // nobody owned anything
	if created {
		before = next.after
	}
	s, err := b.snapshot(in, before, next.after)
	if err != nil {
		return nil, err
	}
	p, err := planner.Rehash(s, planner.Options{ThetaMax: b.newest.ThetaMax})
	if err != nil {
		return nil, err
	}
	if created {
		fromNobody(p)
	}
	p.WorkUnits = next.work
	out := &outcome{Plan: p, shift: next.shift}
	if len(changesTo(next.after, b.layout.entries())) > 0 {
		out.changed = changesTo(next.after, b.stored)
	}
	p.Causes = causesOf(p, out.changed == nil, next.cause)
	if next.certificate != nil {
		out.certificate = next.certificate(p)
	}
	return b.named(out, next.after), nil
}

// causesOf says why nothing changes, or why some instance is still above its
// bound: because of a hot key, if there is one, and of the cause that is given.
func causesOf(p *planner.Plan, unchanged bool, cause planner.Cause) []planner.Cause {
	switch {
	case p.Balanced && unchanged:
		return []planner.Cause{planner.CauseBalanced}
	case p.Balanced:
		return nil
	case len(p.HotKeys) > 0:
		return []planner.Cause{planner.CauseHotKey, cause}
	}
	return []planner.Cause{cause}
}

// fromNobody takes what instances carried before out of the figures: nothing.
func fromNobody(p *planner.Plan) {
	total := 0.0
	for i := range p.Instances {
		l := &p.Instances[i]
		total += l.Before
		l.Before, l.KeysBefore = 0, 0
	}
	p.Theta.Before, p.Underload.Before, p.Skewness.Before = 0, 0, 1
	if total > 0 {
		p.Underload.Before = 1
	}
}

// toNobody is fromNobody for a plan after which there is still nobody to carry
// anything.
func toNobody(p *planner.Plan) {
	fromNobody(p)
	for i := range p.Instances {
		p.Instances[i].After, p.Instances[i].KeysAfter = 0, 0
	}
	p.Theta.After, p.Underload.After, p.Skewness.After, p.Balanced = p.Theta.Before, p.Underload.Before, p.Skewness.Before, true
}
