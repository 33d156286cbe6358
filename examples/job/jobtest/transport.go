package jobtest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"plannerd/examples/job"
)

// Log tests what a job needs of a log.
func Log(t *testing.T, log job.Transport) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	address, stop, err := log.Start(ctx, t.TempDir(), []string{"r1", "r2"}, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	bus, err := log.Connect(ctx, address)
	if err != nil {
		t.Fatal(err)
	}
	defer bus.Close()
	l := &logTest{ctx, bus}
	t.Run("fence", l.fence)
	t.Run("sources", l.sources)
	t.Run("transfers", l.transfers)
	t.Run("publish", l.publish)
}

type logTest struct {
	ctx context.Context
	job.Bus
}

// frames are markers for instances, so that each is told by its epoch and version.
func frames(epoch, marker int64, floor uint64, to ...int32) (list []*job.Outgoing) {
	for _, i := range to {
		list = append(list, &job.Outgoing{Frame: job.Frame{Epoch: epoch, Marker: marker, Floor: floor}, To: i})
	}
	return list
}

// fence has a router append under an old epoch, when there is a higher one in its channels.
func (l *logTest) fence(t *testing.T) {
	old := l.open(t, "r1")
	sent := 0
	first := frames(1, 7, 3, 0, 1)
	if err := old.Append(l.ctx, first, func() { sent++ }); err != nil || sent != 1 || !first[0].Done || !first[1].Done {
		t.Fatalf("%v; sent %d times", err, sent)
	}
	other := l.open(t, "r2")
	defer other.Close()
	next := l.open(t, "r1")
	defer next.Close()
	if floor, err := l.Floor(l.ctx, "r1"); err != nil || floor != 3 {
		t.Errorf("the floor is %d, %v", floor, err)
	}
	if err := next.Append(l.ctx, frames(2, 7, 4, 1), func() {}); err != nil {
		t.Fatal(err)
	}
	late := frames(1, 8, 9, 1)
	if err := old.Append(l.ctx, late, func() {}); !errors.Is(err, job.ErrFenced) || late[0].Done {
		t.Errorf("an append under an old epoch: %v", err)
	}
	old.Close()
	for _, f := range [][]*job.Outgoing{frames(2, 9, 5, 1, 0), frames(2, 10, 6, 1)} {
		if err := next.Append(l.ctx, f, func() {}); err != nil {
			t.Fatal(err)
		}
	}
	if err := other.Append(l.ctx, frames(5, 11, 1, 1), func() {}); err != nil { // of another router
		t.Fatal(err)
	}
	if floor, err := l.Floor(l.ctx, "r1"); err != nil || floor != 6 {
		t.Errorf("the floor is %d, %v", floor, err)
	}
	all := l.channel(t, "1", 0, 5)
	if got := fmt.Sprint(all); got != "[r1 1 7 r1 2 7 r1 2 9 r1 2 10 r2 5 11]" {
		t.Errorf("instance 1 reads %s", got)
	}
	if got := fmt.Sprint(l.channel(t, "1", all[1].at, 3)); got != fmt.Sprint(all[2:]) {
		t.Errorf("after the second it reads %s", got)
	}
	if got := fmt.Sprint(l.channel(t, "0", 0, 2)); got != "[r1 1 7 r1 2 9]" {
		t.Errorf("instance 0 reads %s", got)
	}
}

// open opens the channels of a router.
func (l *logTest) open(t *testing.T, router string) job.Appender {
	t.Helper()
	channels, err := l.Open(l.ctx, router)
	if err != nil {
		t.Fatal(err)
	}
	return channels
}

// marker is a frame that was read.
type marker struct {
	text string
	at   uint64
}

func (m marker) String() string { return m.text }

// channel reads so many frames of an instance.
func (l *logTest) channel(t *testing.T, instance string, after uint64, n int) (all []marker) {
	t.Helper()
	for _, m := range l.read(t, job.Channels, instance, after, n) {
		f, err := job.DecodeFrame(m.Content)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, marker{fmt.Sprint(m.From, " ", f.Epoch, " ", f.Marker), m.At})
	}
	return all
}

// read reads so many messages of a stream.
func (l *logTest) read(t *testing.T, stream job.Stream, of string, after uint64, n int) (all []*job.Message) {
	t.Helper()
	ctx, cancel := context.WithCancel(l.ctx)
	defer cancel()
	messages, err := l.Follow(ctx, stream, of, after)
	if err != nil {
		t.Fatal(err)
	}
	for len(all) < n {
		select {
		case m := <-messages:
			if m.At <= after {
				t.Errorf("position %d comes after %d", m.At, after)
			}
			after = m.At
			all = append(all, m)
		case <-time.After(20 * time.Second):
			t.Fatalf("%d of %d messages came", len(all), n)
		}
	}
	return all
}

func (l *logTest) sources(t *testing.T) {
	for i := range 3 {
		if err := l.Feed(l.ctx, "r2", []byte{byte(i)}); err != nil {
			t.Fatal(err)
		}
	}
	all := l.read(t, job.Sources, "r2", 0, 3)
	if again := l.read(t, job.Sources, "r2", all[0].At, 2); again[0].Content[0] != 1 || again[1].Content[0] != 2 {
		t.Errorf("after the first come %v and %v", again[0].Content, again[1].Content)
	}
}

func (l *logTest) transfers(t *testing.T) {
	var list []job.Addressed
	for i := range 100 {
		list = append(list, job.Addressed{To: int32(i % 2), Content: []byte{byte(i)}})
	}
	if err := l.Transfer(l.ctx, 1, list); err != nil {
		t.Fatal(err)
	}
	for i, m := range l.read(t, job.Transfers, "1", 0, 50) {
		if m.Content[0] != byte(2*i+1) {
			t.Fatalf("transfer %d is %v", i, m.Content)
		}
	}
}

func (l *logTest) publish(t *testing.T) {
	heard := make(chan string, 10)
	if err := l.Publish("a", []byte("before")); err != nil {
		t.Fatal(err)
	}
	if err := l.Flush(l.ctx); err != nil {
		t.Fatal(err)
	}
	for _, subject := range []string{"a", "b"} {
		if err := l.Listen(subject, func(m job.Message) { heard <- m.Subject + " " + string(m.Content) }); err != nil {
			t.Fatal(err)
		}
	}
	for _, what := range []string{"b", "c", "a"} {
		if err := l.Publish(what, []byte("to "+what)); err != nil {
			t.Fatal(err)
		}
	}
	all := map[string]bool{<-heard: true, <-heard: true}
	if !all["a to a"] || !all["b to b"] || len(heard) > 0 {
		t.Errorf("heard %v", all)
	}
}
