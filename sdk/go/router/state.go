package router

import (
	"encoding/base64"
	"errors"
	"fmt"

	"plannerd/sdk/go/route"
	"plannerd/sdk/go/wire"
)

// ErrScheme is returned where the operator has another scheme than a routing table.
var ErrScheme = errors.New("router: the operator has no routing table, but another scheme")

// state is a table and all that came with it.
type state struct {
	table         *route.Table // with what is pending
	configVersion int64
	origin        wire.TableOrigin // "": a file of an older program does not say
	hash          *wire.Hash
	placement     *wire.Placement    // nil: there are no rules
	routing       *wire.PartsRouting // of the parts of split keys; nil: by their weights
	instances     []wire.Instance
	pending       *wire.PendingTable // with its lists
}

func (s state) view(kept bool) *View {
	v := &View{Table: s.table, Origin: s.origin, ConfigVersion: s.configVersion, Kept: kept,
		names: map[int32]string{}, ids: map[string]int32{}}
	all := s.instances
	if s.pending != nil {
		all = append(all[:len(all):len(all)], s.pending.Instances...)
	}
	for _, x := range all {
		if x.Name != "" {
			v.names[x.Id], v.ids[x.Name] = x.Name, x.Id
		}
	}
	if s.pending != nil {
		p := *s.pending
		p.Set, p.Unset = nil, nil
		v.Pending = &p
	}
	return v
}

// apply returns the state after an answer: a whole table, or what has changed of this one.
func (s state) apply(answer *wire.RoutingTable, router string) (state, error) {
	if answer.Scheme != wire.SchemeTable {
		return s, fmt.Errorf("%w: %s", ErrScheme, answer.Scheme)
	}
	next := s
	next.configVersion, next.origin, next.pending = answer.ConfigVersion, answer.Origin, answer.Pending
	if answer.Hash != nil && answer.Instances != nil {
		next.hash, next.placement, next.instances = answer.Hash, answer.Placement, *answer.Instances
	}
	if next.hash == nil {
		return s, errors.New("router: the table comes without its hash")
	}
	keys := decoder(answer.KeyEncoding != nil && *answer.KeyEncoding == wire.AnswerKeyEncodingBase64)
	set, err := keys.entries(append(answer.Entries, answer.Set...))
	if err != nil {
		return s, err
	}
	unset, err := keys.decodeAll(answer.Unset)
	if err != nil {
		return s, err
	}
	if answer.FromVersion == nil || answer.Full != nil && *answer.Full {
		hash, err := route.New(config(next.hash, next.placement), instances(next.instances))
		if err != nil {
			return s, err
		}
		next.table, err = route.NewTable(answer.Version, hash, set, router)
		if err != nil {
			return s, err
		}
	} else {
		if s.table == nil || s.table.Version() != *answer.FromVersion {
			return s, fmt.Errorf("router: changes since version %d, which is not the one that there is", *answer.FromVersion)
		}
		if next.table, err = s.table.Changed(answer.Version, set, unset); err != nil {
			return s, err
		}
	}
	if next.routing = answer.Routing; next.table.Routing() != routing(next.routing) {
		next.table = next.table.WithRouting(routing(next.routing))
	}
	then, err := next.pendingRoutes(keys)
	if err != nil {
		return s, err
	}
	next.table, err = next.table.WithPending(then)
	return next, err
}

// pendingRoutes are what a pending plan makes of routes; nil: nothing is pending.
func (s state) pendingRoutes(keys decoder) (*route.Pending, error) {
	p := s.pending
	if p == nil {
		return nil, nil
	}
	if p.Hash == nil {
		return nil, errors.New("router: what is pending comes without its hash")
	}
	out := &route.Pending{Version: p.Version, Routing: routing(p.Routing)}
	then := config(p.Hash, p.Placement)
	var err error
	if out.Hash, err = route.New(then, instances(p.Instances)); err != nil {
		return nil, err
	}
	out.Rehashed = !route.Same(config(s.hash, s.placement), instances(s.instances), then, instances(p.Instances))
	if p.Set != nil {
		if out.Set, err = keys.entries(*p.Set); err != nil {
			return nil, err
		}
	}
	if p.Unset != nil {
		out.Unset, err = keys.decodeAll(*p.Unset)
	}
	return out, err
}

// whole is the state as an answer that has all of it.
func (s state) whole(operator string) *wire.RoutingTable {
	out := &wire.RoutingTable{
		Operator: operator, Scheme: wire.SchemeTable, Version: s.table.Version(), Origin: s.origin,
		ConfigVersion: s.configVersion, Hash: s.hash, Placement: s.placement, Routing: s.routing, Instances: &s.instances,
		Pending:     s.pending,
		KeyEncoding: new(wire.AnswerKeyEncodingBase64),
		Entries:     []wire.RoutingTableEntry{},
	}
	for e := range s.table.Entries() {
		entry := wire.RoutingTableEntry{Key: base64.StdEncoding.EncodeToString(e.Key), Instance: e.Instance}
		if e.Parts != nil {
			parts := make(wire.Parts, len(e.Parts))
			for i, p := range e.Parts {
				parts[i] = wire.Part{Instance: p.Instance, Weight: p.Weight}
			}
			entry.Parts = &parts
		}
		out.Entries = append(out.Entries, entry)
	}
	return out
}

// decoder reads keys, in base64 or as they are.
type decoder bool

func (d decoder) decode(key string) ([]byte, error) {
	if !d {
		return []byte(key), nil
	}
	out, err := base64.StdEncoding.DecodeString(key)
	if err != nil {
		return nil, fmt.Errorf("router: key %q: %w", key, err)
	}
	return out, nil
}

func (d decoder) decodeAll(keys []string) ([][]byte, error) {
	out := make([][]byte, len(keys))
	for i, key := range keys {
		var err error
		if out[i], err = d.decode(key); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (d decoder) entries(all []wire.RoutingTableEntry) ([]route.Entry, error) {
	out := make([]route.Entry, len(all))
	for i, e := range all {
		key, err := d.decode(e.Key)
		if err != nil {
			return nil, err
		}
		out[i] = route.Entry{Key: key, Instance: e.Instance}
		if e.Parts != nil {
			for _, p := range *e.Parts {
				out[i].Parts = append(out[i].Parts, route.Part{Instance: p.Instance, Weight: p.Weight})
			}
		}
	}
	return out, nil
}

// routing is how a router chooses among parts.
func routing(by *wire.PartsRouting) route.Routing {
	if by == nil {
		return route.Weighted
	}
	return route.Routing(*by)
}

// config is what places keys without an entry, by rules if there are any.
func config(h *wire.Hash, p *wire.Placement) route.Config {
	c := route.Config{
		Function: string(value(h.Function)), TokensPerInstance: int(value(h.TokensPerInstance)),
		MaxParallelism: int(value(h.MaxParallelism)), KeyType: string(value(h.KeyType)),
		Partitions: int(value(h.Partitions)),
	}
	if h.Assignment != nil {
		c.Assignment = *h.Assignment
	}
	if a := h.Affinity; a != nil {
		c.Affinity = route.Affinity{Tag: value(a.Tag), Until: value(a.Until), Count: int(value(a.Count))}
	}
	if p != nil {
		for _, r := range p.Rules {
			c.Rules = append(c.Rules, route.Rule{Name: r.Name, Prefix: r.Keys.Prefix, Equals: r.Keys.Equals,
				On: r.On.Instances, Exclusive: r.Exclusive, Stay: r.Stay})
		}
	}
	return c
}

func instances(all []wire.Instance) []route.Instance {
	out := make([]route.Instance, len(all))
	for i, x := range all {
		out[i] = route.Instance{ID: x.Id, Tokens: int(value(x.Tokens))}
	}
	return out
}

func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
