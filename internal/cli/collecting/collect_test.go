package collecting

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// fake is a source whose clock stands still between looks.
type fake struct {
	clock   time.Time
	looks   []func(*fake) (*look, error) // one after the other
	waiting func()                       // called at each wait; nil: nothing
}

func (f *fake) wait(ctx context.Context, until time.Time) error {
	if f.waiting != nil {
		f.waiting()
	}
	if f.clock.Before(until) {
		f.clock = until
	}
	return ctx.Err()
}

func (f *fake) look(context.Context, time.Time) (*look, error) {
	next := f.looks[0]
	f.looks = f.looks[1:]
	return next(f)
}

// counter is a look at a counter of one key.
func counter(value float64) func(*fake) (*look, error) {
	return func(f *fake) (*look, error) {
		return &look{at: f.clock, counters: true, located: true,
			keys: map[string]sample{"a": {cost: value, state: value / 10, instance: "w-1"}}}, nil
	}
}

func away(f *fake) (*look, error) {
	f.clock = f.clock.Add(40 * time.Second)
	return nil, errors.New("nobody answers")
}

func brieflyAway(f *fake) (*look, error) {
	f.clock = f.clock.Add(2 * time.Second)
	return nil, errors.New("nobody answers")
}

// refusing takes what is a multiple of some number.
type refusing struct {
	*writer
	every int64
}

func (r refusing) take(ctx context.Context, i *interval) error {
	if i.number%r.every != 0 {
		return errors.New("refused")
	}
	return r.writer.take(ctx, i)
}

func TestLive(t *testing.T) {
	const header = "interval,key,cost,state,instance\n"
	for name, c := range map[string]struct {
		most   int
		looks  []func(*fake) (*look, error)
		cancel int   // after so many waits
		take   int64 // only multiples
		rows   string
		said   []string
		err    string
	}{
		"differences": {most: 2, looks: []func(*fake) (*look, error){counter(10), counter(15), counter(40)},
			rows: header + "100,a,5,1.5,w-1\n101,a,25,4,w-1\n"},
		"a restart": {most: 1, looks: []func(*fake) (*look, error){counter(100), counter(30)},
			rows: header + "100,a,30,3,w-1\n", said: []string{"1 key began to be counted within the interval"}},
		"away for most of an interval": {most: 3,
			looks: []func(*fake) (*look, error){counter(0), away, counter(7), counter(9), counter(12)},
			rows:  header + "101,a,2,0.9,w-1\n102,a,3,1.2,w-1\n",
			said:  []string{"nobody answers; trying again in 1ms", "is left out: the source answered 40s late"}},
		"away for a moment": {most: 1 + 1,
			looks: []func(*fake) (*look, error){counter(0), brieflyAway, counter(7), counter(9)},
			rows:  header + "100,a,7,0.7,w-1\n101,a,2,0.9,w-1\n", said: []string{"trying again"}},
		"never there":     {looks: []func(*fake) (*look, error){away}, err: "nobody answers"},
		"one, and away":   {most: 1, looks: []func(*fake) (*look, error){counter(0), away}, err: "nobody answers"},
		"nothing to read": {most: 1, looks: []func(*fake) (*look, error){nothing, nothing}, err: "there is no key"},
		"nothing for once": {most: 2, looks: []func(*fake) (*look, error){nothing, nothing, counter(1)}, rows: header +
			"101,a,1,0.1,w-1\n", said: []string{"interval 100 has no keys"}},
		"interrupted": {looks: []func(*fake) (*look, error){counter(1), counter(2), counter(3)}, cancel: 2,
			rows: header + "100,a,1,0.2,w-1\n", said: []string{"interrupted after 1 interval;"}},
		"interrupted early": {most: 1, looks: []func(*fake) (*look, error){counter(1), counter(2)}, cancel: 1,
			said: []string{"interrupted after 0 intervals;"}, err: "context canceled"},
		"refused at first": {most: 2, looks: []func(*fake) (*look, error){counter(0), counter(1)}, take: 7, err: "refused"},
		"refused later": {most: 3, looks: []func(*fake) (*look, error){counter(0), counter(1), counter(2), counter(3)},
			take: 50, rows: header + "100,a,1,0.1,w-1\n", said: []string{"interval 101 is left out: refused", "interval 102"}},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var out, said bytes.Buffer
			f := &fake{clock: time.Unix(6000, 0), looks: c.looks}
			waits := 0
			f.waiting = func() {
				if waits++; waits == c.cancel {
					cancel()
				}
			}
			r := &run{schedule: schedule{time.Minute, c.most}, stderr: &said, name: "fake", told: map[string]bool{},
				retry: time.Millisecond, now: func() time.Time { return f.clock },
				out: refusing{&writer{to: &out, numbered: true}, max(1, c.take)}}
			err := r.live(ctx, f)
			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("%v, want %q", err, c.err)
			}
			if out.String() != c.rows {
				t.Errorf("%q, want %q", out.String(), c.rows)
			}
			for _, want := range c.said {
				if !strings.Contains(said.String(), want) {
					t.Errorf("said %q, want %q", said.String(), want)
				}
			}
		})
	}
}

func nothing(f *fake) (*look, error) {
	return &look{at: f.clock, counters: true, located: true, keys: map[string]sample{}}, nil
}

// Members of a group have names that last as far as possible.
func TestOwners(t *testing.T) {
	static := "worker-3"
	of := func(client, host, id string, partition int32) member {
		topics := kadm.TopicsSet{}
		topics.Add("t", partition)
		return member{client: client, host: host, id: id, topics: topics}
	}
	named := of("c", "/10.0.0.1", "c-1", 0)
	named.static = &static
	owners, passing := ownersOf([]member{named, of("d", "/10.0.0.1", "d-1", 1), of("e", "/10.0.0.1", "e-1", 2),
		of("e", "/10.0.0.2", "e-2", 3)})
	var got []string
	for p, name := range owners {
		got = append(got, fmt.Sprint(p.partition, " ", name))
	}
	slices.Sort(got)
	if want := []string{"0 worker-3", "1 d", "2 e@10.0.0.1", "3 e@10.0.0.2"}; !slices.Equal(got, want) || passing {
		t.Errorf("%q, %v; want %q", got, passing, want)
	}
	owners, passing = ownersOf([]member{of("e", "/10.0.0.1", "e-1", 0), of("e", "/10.0.0.1", "e-2", 1)})
	if owners[partition{"t", 1}] != "e-2" || !passing {
		t.Errorf("%v, %v", owners, passing)
	}
}

// The nodes that have slots are found under the names that a cluster has for them.
func TestMasters(t *testing.T) {
	got := masters("a :1@2 myself,master - 0 0 1 connected 0-5\nb ::1:3@4,host master - 0 0 1 connected 6 8-9\n"+
		"c 10.0.0.1:5@6 slave a 0 0 1 connected\nd 10.0.0.2:7@8 master - 0 0 2 connected\n", "cache:1")
	if want := []string{"[::1]:3", "cache:1"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// The counter of uses grows more slowly the greater it is; keys have the slots that CLUSTER KEYSLOT tells.
func TestSampleFigures(t *testing.T) {
	for counter, want := range map[float64]float64{0: 0, 5: 0, 6: 1, 7: 12, 8: 33} {
		if got := uses(counter, 10); got != want {
			t.Errorf("%v: %v uses, want %v", counter, got, want)
		}
	}
	for key, want := range map[string]int{"123456789": 0x31c3, "": 0, "foo": 12182, "a{foo}bar{x}": 12182, "{}foo": 9500} {
		if got := keySlot(key); got != want {
			t.Errorf("%q has slot %d, want %d", key, got, want)
		}
	}
}
