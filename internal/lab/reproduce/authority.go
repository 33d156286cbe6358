package reproduce

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"plannerd/sdk/go/client"
	"plannerd/sdk/go/wire"
)

// shuffle is an operator of key ranges on a server: its leader, and all of its followers.
type shuffle struct {
	m         *measurement
	api       *client.Client
	followers int32
	lost      []int32
	interval  int64
	// alone and named: at every step so far in which records are read one follower answers,
	// and the others name that one.
	alone, named bool
	steps        int
}

const (
	shuffled     = "shuffle"
	middleRecord = "r048" // of the records r000 to r099
	// leaseOfReports is the shortest that the service has.
	leaseOfReports = time.Second
)

// shufflerAuthority lives a shuffle through with a server: put, the end of the input, get, a
// follower that joins, and one that crashes. At each step all followers are asked.
func shufflerAuthority(m *measurement) {
	m.setting("a server, two followers, 100 records; then a third follower joins, and the owner of the middle crashes")
	m.axes("step", "followers that answer for the record in the middle")
	if m.server == nil {
		check(errors.New("it asks a server, and Options.Server starts none"))
	}
	url, stop, err := m.server(m.ctx)
	check(err)
	api, err := client.New(url, client.Config{})
	if err == nil {
		s := &shuffle{m: m, api: api, followers: 2, alone: true, named: true}
		err = s.live()
		m.claim(s.alone, "from the get phase on exactly one follower answers at every step")
		m.claim(s.named, "a follower that is asked and does not answer says who does, or to come again")
	}
	check(errors.Join(err, stop()))
}

func (s *shuffle) live() error {
	if _, err := s.api.PutOperator(s.m.ctx, shuffled, wire.OperatorConfiguration{
		Instances: []wire.Instance{{Id: 0}, {Id: 1}}, Scheme: new(wire.SchemeRanges), ThetaMax: new(0.1),
		Ranges:  &wire.RangesOptions{Phase: new(wire.RangesPhasePut)},
		Reports: &wire.ReportOptions{Lease: new(leaseOfReports.String())},
	}); err != nil {
		return err
	}
	return firstError(
		func() error { return s.step("created", false) },
		s.put, s.endOfInput, s.join, s.crash,
	)
}

// firstError does one thing after the other, until one fails.
func firstError(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// put divides the keys while records come.
func (s *shuffle) put() error {
	p, err := s.plan()
	if err != nil {
		return err
	}
	if _, err := s.api.CommitPlan(s.m.ctx, p.Id, wire.CommitRequest{}); err != nil {
		return err
	}
	return s.step("put: a division is committed", false)
}

// endOfInput divides for the last time.
func (s *shuffle) endOfInput() error {
	if err := s.patch(wire.OperatorPatch{"ranges": map[string]any{"phase": wire.RangesPhaseGet}}); err != nil {
		return err
	}
	return s.handOver("end of input: the last division", false)
}

// join has a third follower take its share.
func (s *shuffle) join() error {
	if err := s.patch(wire.OperatorPatch{"instances": s.followers + 1}); err != nil {
		return err
	}
	s.followers++
	return s.handOver("a third joins: it is sent records", true)
}

// crash has the follower that answers for the record in the middle fall silent.
func (s *shuffle) crash() error {
	who, err := s.answering()
	if err != nil {
		return err
	}
	if len(who) != 1 {
		return nil // that is said already
	}
	s.lost = who
	select {
	case <-s.m.ctx.Done():
		return s.m.ctx.Err()
	case <-time.After(leaseOfReports + leaseOfReports/10):
	}
	return s.handOver(fmt.Sprintf("%d crashes, and its lease ends", who[0]), true)
}

func (s *shuffle) patch(patch wire.OperatorPatch) error {
	_, err := s.api.PatchOperator(s.m.ctx, shuffled, patch)
	return err
}

// handOver makes a plan and carries it out; before each acknowledgement all are asked.
func (s *shuffle) handOver(name string, reading bool) error {
	p, err := s.plan()
	if err != nil {
		return err
	}
	if p, err = s.api.StartPlan(s.m.ctx, p.Id, wire.StartRequest{Executor: "leader"}); err != nil {
		return err
	}
	if err := s.step(name, reading); err != nil {
		return err
	}
	for i, id := range p.Awaits {
		if _, err := s.api.AckPlan(s.m.ctx, p.Id, wire.AckRequest{Instances: []int32{id}}); err != nil {
			return err
		}
		last := i == len(p.Awaits)-1
		if err := s.step(fmt.Sprintf("%d has acknowledged", id), reading || last); err != nil {
			return err
		}
	}
	return nil
}

// plan has all followers report that are there, each on some of the records, and plans.
func (s *shuffle) plan() (*wire.Plan, error) {
	s.interval++
	rows := make([][]wire.Row, s.followers)
	for i := range 100 {
		at := i % len(rows)
		if slices.Contains(s.lost, int32(at)) {
			at = (at + 1) % len(rows)
		}
		rows[at] = append(rows[at], wire.Row{Key: fmt.Sprintf("r%03d", i), Cost: new(1.0)})
	}
	for id, keys := range rows {
		if len(keys) == 0 {
			continue
		}
		if _, err := s.api.PutReport(s.m.ctx, shuffled, s.interval, int32(id), wire.ReportRequest{Keys: keys}); err != nil {
			return nil, err
		}
	}
	return s.api.CreatePlan(s.m.ctx, shuffled, wire.PlanRequest{Interval: s.interval})
}

// step asks all followers, and adds what they say to the transcript.
func (s *shuffle) step(name string, reading bool) error {
	who, err := s.answering()
	if err != nil {
		return err
	}
	switch {
	case len(who) == 0:
		name += ": nobody answers"
	default:
		name += fmt.Sprintf(": %d answers", who[0])
	}
	s.alone = s.alone && (len(who) == 1) == reading
	s.steps++
	s.m.add("answers", fmt.Sprintf("%d. %s", s.steps, name), float64(len(who)))
	return nil
}

// answering are the followers that answer for the record in the middle.
func (s *shuffle) answering() (who []int32, err error) {
	named := map[int32]bool{}
	for id := range s.followers {
		_, err := s.api.Answers(s.m.ctx, shuffled, []byte(middleRecord), id)
		var refused *client.Error
		switch {
		case err == nil:
			who = append(who, id)
		case !errors.As(err, &refused):
			return nil, err
		case refused.Code == wire.CodeNotOwner && refused.Owner != nil:
			named[*refused.Owner] = true
		case refused.Code != wire.CodeNotServing || refused.RetryAfter == 0:
			return nil, err
		}
	}
	for id := range named {
		s.named = s.named && slices.Contains(who, id)
	}
	return who, nil
}
