package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"runtime"
	"time"
)

// trial posts intervals of one shape to a server of its own, one at a time, and
// commits every plan.
type trial struct {
	store, format, encoding string
	storeInputs             string // of the operator; empty: not sent
	keys, instances, runs   int
	fluctuation             float64
	limit                   int64 // of the server's memory, in bytes; 0: none
	files                   bool  // bodies go through files, not memory
}

func (t trial) String() string {
	text := fmt.Sprintf("%s, %s, %s, %s keys", t.store, t.format, t.encoding, short(t.keys))
	if t.storeInputs != "" {
		text += ", store_inputs " + t.storeInputs
	}
	return text
}

// references: general decoders read the same bodies in between.
func (t trial) references() bool { return t.format == jsonRows && t.encoding == identity && !t.files }

// inputs is the operator's store_inputs, as shown.
func (t trial) inputs() string { return cmp.Or(t.storeInputs, "default") }

// outcome is what a trial measured.
type outcome struct {
	total                       times // from before the first byte sent to after the last one received
	decode, plan, persist, rest times // its parts; decode includes receiving
	goccy                       times // the same bodies, in this process
	encodingJSON                times
	length, plain, columns      int64 // bytes of the first body, as sent and as decoded, and of its columns
	count                       int   // its rows
	idle, first, last           footprint
	bounded                     string
}

// growth is how much more memory than idle the server had at its peak.
func (o *outcome) growth() int64 { return o.last.peak - o.idle.peak }

const trialOperator = "load"

// try runs a trial.
func (b *bench) try(ctx context.Context, t trial) (*outcome, error) {
	b.progress("%v", t)
	o := &outcome{}
	err := b.with(ctx, t.store, t.limit, nil, func(s *server) error {
		o.bounded = s.bounded
		engine, err := newStream(t.keys, t.instances, t.fluctuation, b.seed)
		if err != nil {
			return err
		}
		configuration := map[string]any{"instances": t.instances}
		if t.storeInputs != "" {
			configuration["store_inputs"] = t.storeInputs == "true"
		}
		if err := s.put(ctx, trialOperator, configuration); err != nil {
			return err
		}
		o.idle = s.memory()
		var version int64
		for run := range t.runs {
			if version, err = b.interval(ctx, t, s, engine, run, version, o); err != nil {
				return fmt.Errorf("interval %d: %w", run, err)
			}
			if run == 0 {
				o.first = s.memory()
			}
		}
		o.last = s.memory()
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%v: %w", t, err)
	}
	return o, nil
}

// interval posts one interval on the table version given and returns the one
// that is committed after it.
func (b *bench) interval(ctx context.Context, t trial, s *server, engine *stream, run int, version int64,
	o *outcome) (int64, error) {
	content, err := b.body(engine, t, run, o)
	if err != nil {
		return 0, err
	}
	runtime.GC() // nothing of this process should run beside the server but what it must
	a, err := s.post(ctx, trialOperator, content, int64(run), &version, false)
	if err != nil {
		return 0, err
	}
	p, err := parsePlan(a)
	if err != nil {
		return 0, err
	}
	o.add(a.took, p)
	if p.Status == approved {
		if version, err = s.committed(ctx, p.Id); err != nil {
			return 0, err
		}
	} else if p.Version != nil {
		version = *p.Version // nothing was to be agreed on
	}
	if err := engine.apply(p); err != nil {
		return 0, err
	}
	b.sort()
	if t.references() {
		if err := o.decodeElsewhere(content, run); err != nil {
			return 0, err
		}
	}
	return version, content.remove()
}

// committed commits a plan and returns the version that it makes.
func (s *server) committed(ctx context.Context, id string) (version int64, err error) {
	a, err := s.commit(ctx, id)
	if err != nil {
		return 0, err
	}
	if a.status != http.StatusOK {
		return 0, fmt.Errorf("commit: %w", a.failure())
	}
	var p plan
	if err := json.Unmarshal(a.body, &p); err != nil {
		return 0, fmt.Errorf("commit: %w", err)
	}
	if p.Version == nil {
		return 0, fmt.Errorf("plan %s is committed without a version", id)
	}
	return *p.Version, nil
}

// body encodes the next interval.
func (b *bench) body(engine *stream, t trial, run int, o *outcome) (*body, error) {
	r, err := engine.next(true)
	if err != nil {
		return nil, err
	}
	file := ""
	if t.files {
		file = filepath.Join(b.dir, "body")
	}
	content, err := newBody(r, t.format, t.encoding, file)
	if err != nil {
		return nil, err
	}
	if run == 0 {
		o.length, o.plain, o.columns, o.count = content.length, content.plain, columnBytes(r), content.count
	}
	return content, nil
}

// add notes how long a plan took.
func (o *outcome) add(total time.Duration, p *plan) {
	milliseconds := func(x float64) time.Duration { return time.Duration(x * float64(time.Millisecond)) }
	decode, plan := milliseconds(p.Timing.DecodeMs), milliseconds(p.Timing.PlanMs)
	var persist time.Duration
	if ms := p.Timing.PersistMs; ms != nil {
		persist = milliseconds(*ms)
	}
	o.total = append(o.total, total)
	o.decode = append(o.decode, decode)
	o.plan = append(o.plan, plan)
	o.persist = append(o.persist, persist)
	o.rest = append(o.rest, total-decode-plan-persist)
}

// decodeElsewhere times the reference decoders on a body, the slow one once.
func (o *outcome) decodeElsewhere(content *body, run int) error {
	open, length, _, err := content.open(int64(run), nil)
	if err != nil {
		return err
	}
	defer open.Close()
	text := bytes.NewBuffer(make([]byte, 0, length+bytes.MinRead))
	if _, err := io.Copy(text, open); err != nil {
		return err
	}
	runtime.GC()
	took, err := goccyTime(text.Bytes())
	if err != nil {
		return fmt.Errorf("goccy/go-json: %w", err)
	}
	o.goccy = append(o.goccy, took)
	if run == 0 {
		runtime.GC()
		if took, err = encodingJSONTime(text.Bytes()); err != nil {
			return fmt.Errorf("encoding/json: %w", err)
		}
		o.encodingJSON = append(o.encodingJSON, took)
	}
	runtime.GC()
	return nil
}
