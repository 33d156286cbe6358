package reading

import (
	"context"
	"time"

	"plannerd/internal/operator"
	"plannerd/internal/refusal"
	"plannerd/store"
)

// ConfigurationVersion is a version of an operator's configuration, and what changed from another one.
type ConfigurationVersion struct {
	store.Configuration
	Since   int64 // the other version; 0: there is none, or it is not kept
	Changes []operator.Difference
}

// Configurations lists the versions before one that are kept, or all for 0, newest first, each with what
// changed from the one before it that is kept. next is where the list goes on, 0 after its end.
func (r *Reader) Configurations(ctx context.Context, name string, before int64, limit int) (
	out []ConfigurationVersion, next int64, err error,
) {
	all, err := r.Store.Configurations(ctx, name, before, limit+1)
	if err != nil {
		return nil, 0, refusal.AboutOperator(name, err)
	}
	if len(all) > limit {
		next = all[limit-1].Version
	}
	for i := range all[:min(limit, len(all))] {
		var was *store.Configuration
		if i+1 < len(all) {
			was = &all[i+1]
		}
		v, err := changedFrom(was, all[i])
		if err != nil {
			return nil, 0, err
		}
		out = append(out, v)
	}
	return out, next, nil
}

// ConfigurationVersion reads a version, and what changed since an earlier or later one; nil: since the one
// before it.
func (r *Reader) ConfigurationVersion(ctx context.Context, name string, version int64, since *int64) (
	ConfigurationVersion, error,
) {
	if err := r.CheckOperator(ctx, name); err != nil {
		return ConfigurationVersion{}, err
	}
	is, err := r.storedConfiguration(ctx, name, version)
	if err != nil {
		return ConfigurationVersion{}, err
	}
	if since != nil {
		was, err := r.storedConfiguration(ctx, name, *since)
		if err != nil {
			return ConfigurationVersion{}, err
		}
		return changedFrom(&was, is)
	}
	before, err := r.Store.Configurations(ctx, name, version, 1)
	if err != nil || len(before) == 0 {
		return ConfigurationVersion{Configuration: is}, refusal.AboutOperator(name, err)
	}
	return changedFrom(&before[0], is)
}

func (r *Reader) storedConfiguration(ctx context.Context, name string, version int64) (store.Configuration, error) {
	c, err := r.Store.Configuration(ctx, name, version)
	return c, refusal.AboutVersion(name, version, err)
}

// changedFrom tells what changed from one version to another; was is nil where there is none.
func changedFrom(was *store.Configuration, is store.Configuration) (ConfigurationVersion, error) {
	out := ConfigurationVersion{Configuration: is}
	if was == nil {
		return out, nil
	}
	from, err := operator.DecodeConfiguration(was.Config)
	if err != nil {
		return out, err
	}
	to, err := operator.DecodeConfiguration(is.Config)
	if err != nil {
		return out, err
	}
	out.Since = was.Version
	out.Changes, err = operator.Differences(from, to)
	return out, err
}

// mostSteps is how many steps of plans are told of since a time.
const mostSteps = 100

// OperatorChanges is what happened to an operator after a time.
type OperatorChanges struct {
	store.OperatorChanges
	// Configuration is the newest version and what changed; nil: it is the one of that time.
	Configuration *ConfigurationVersion
}

// OperatorChanges tells what happened to an operator after a time.
func (r *Reader) OperatorChanges(ctx context.Context, name string, since time.Time) (out OperatorChanges, err error) {
	if out.OperatorChanges, err = r.Store.OperatorChanges(ctx, name, since, mostSteps); err != nil {
		return out, refusal.AboutOperator(name, err)
	}
	if n := len(out.Configured); n > 0 {
		v, err := changedFrom(out.Before, out.Configured[n-1])
		if err != nil {
			return out, err
		}
		out.Configuration = &v
	}
	return out, nil
}
