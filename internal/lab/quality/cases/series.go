package cases

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"slices"

	"plannerd/internal/lab/streams"
	"plannerd/internal/lab/workload"
	"plannerd/planner"
	"plannerd/planner/partitioner"
)

// z is the exponent of the Zipf workloads.
const z = workload.DefaultZ

// Streams names the streams: the project's own and those recorded below dir.
func Streams(dir string) ([]string, error) {
	all, err := streams.With(dir)
	names := make([]string, len(all))
	for i, s := range all {
		names[i] = s.Name
	}
	return names, err
}

// Series yields the cases of one setting, interval after interval. Keys are
// placed by the service's default hash, a ring. It is not safe for concurrent
// use.
type Series struct {
	setting Setting
	target  planner.Configuration
	table   *planner.RoutingTable

	generator *workload.Generator // of a Zipf workload
	current   []int32             // where its keys are
	interval  int64

	next func() (streams.Interval, error, bool) // of a stream
	stop func()
}

// Open begins a setting. dir is that of recorded streams.
func Open(setting Setting, dir string) (*Series, error) {
	s := &Series{setting: setting}
	nodes := make([]partitioner.Instance, setting.Instances)
	s.target.Instances = make([]planner.Instance, setting.Instances)
	for d := range nodes {
		nodes[d].ID = int32(d)
		s.target.Instances[d] = planner.Instance{ID: int32(d), Capacity: 1}
	}
	hash, err := partitioner.New(partitioner.Config{}, nodes)
	if err != nil {
		return nil, err
	}
	s.target.Hash = hash
	if setting.Stream != "" {
		err := s.openStream(dir)
		return s, err
	}
	s.generator, err = workload.New(workload.Config{
		Keys: setting.Keys, Instances: setting.Instances, Distribution: workload.Zipf, Z: z,
		Fluctuation: setting.Fluctuation, Window: setting.Window, Seed: setting.Seed,
	})
	if err != nil {
		return nil, err
	}
	s.current, err = s.generator.Assign(hash)
	return s, err
}

func (s *Series) openStream(dir string) error {
	all, err := streams.With(dir)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(stream streams.Stream) bool { return stream.Name == s.setting.Stream })
	if i < 0 {
		return fmt.Errorf("stream %s, beside those in %s: %w", s.setting.Stream, dir, fs.ErrNotExist)
	}
	s.next, s.stop = iter.Pull2(all[i].Intervals)
	return nil
}

// Close ends the reading of a stream.
func (s *Series) Close() {
	if s.stop != nil {
		s.stop()
	}
}

// Next returns the next interval, on the routing table that was committed last.
// The error is io.EOF at the end of a stream, and [workload.ErrUnreachable],
// final too, when no swap of frequencies reaches the fluctuation.
func (s *Series) Next() (*Case, error) {
	interval, stats, err := s.statistics()
	if err != nil {
		return nil, err
	}
	snapshot, err := planner.NewSnapshot(stats, s.target, planner.Base{Configuration: s.target, Table: s.table})
	if err != nil {
		return nil, err
	}
	limit := s.setting.TableLimit
	return &Case{
		Setting: s.setting, Interval: interval, Snapshot: snapshot,
		Options: planner.Options{ThetaMax: s.setting.ThetaMax, TableLimit: &limit},
	}, nil
}

func (s *Series) statistics() (int64, *planner.Statistics, error) {
	if s.next != nil {
		in, err, ok := s.next()
		if !ok {
			err = io.EOF
		}
		return in.Number, in.Statistics, err
	}
	stats, err := s.generator.Next(s.current)
	s.interval++
	return s.interval - 1, stats, err
}

// Commit carries a plan of the last case on to the next one. Without it the
// routing table stays as it was.
func (s *Series) Commit(p *planner.Plan) error {
	table, err := p.Table()
	if err != nil {
		return err
	}
	s.table = table
	if s.generator != nil {
		s.current = slices.Clone(p.Snapshot.Current)
		for _, m := range p.Moves {
			s.current[m.Item] = m.To
		}
	}
	return nil
}

// WarmUp is how many intervals come before the ones that are measured: w with a
// Zipf workload, which fill the window of the state, none with a stream, which
// is measured as it was recorded.
func (s Setting) WarmUp() int { return s.Window }

// commit carries on the strategy's plan.
func (s *Series) commit(c *Case, strategy string) error {
	plan, err := planner.Run(strategy, c.Snapshot, c.Options)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Name(), err)
	}
	return s.Commit(plan)
}

// Drive yields the first intervals of a setting after its warm-up; strategy's
// plans are carried on. It ends early where a stream does, or a workload in
// which no swap of frequencies reaches the fluctuation, and after an error.
func Drive(setting Setting, dir, strategy string, intervals int) iter.Seq2[*Case, error] {
	return func(yield func(*Case, error) bool) {
		s, err := Open(setting, dir)
		if err != nil {
			yield(nil, err)
			return
		}
		defer s.Close()
		for n := range setting.WarmUp() + intervals {
			c, err := s.Next()
			if errors.Is(err, io.EOF) || errors.Is(err, workload.ErrUnreachable) {
				return
			}
			if err == nil && n >= setting.WarmUp() && !yield(c, nil) {
				return
			}
			if err == nil {
				err = s.commit(c, strategy)
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
	}
}
