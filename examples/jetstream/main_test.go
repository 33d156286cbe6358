package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"
)

// TestMain runs the tests, or the program: the processes that a job starts are this one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "-role" {
		main()
		return
	}
	m.Run()
}

// TestRebalanced runs a job whose keys are moved while processes are killed. The job itself
// demands every number of every key, at the place where its route is.
func TestRebalanced(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	done, err := Run(ctx, t.Output(), "-dir", t.TempDir(), "-instances=3", "-keys=2000", "-zipf=1",
		"-rate=2000", "-shift=3s", "-state=200", "-interval=1s", "-theta=0.01", "-batch=2",
		"-duration=12s", "-kills=8")
	if err != nil {
		t.Fatal(err)
	}
	if done.Plans == 0 || done.Moved == 0 {
		t.Errorf("%+v: nothing was moved", done)
	}
}

// TestRescaled runs a job from which an instance is removed while messages come: all its keys move,
// in batches. The job demands the same, and that nothing is left.
func TestRescaled(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	done, err := Run(ctx, t.Output(), "-dir", t.TempDir(), "-instances=3", "-removed=1", "-keys=300", "-zipf=0.5",
		"-rate=1000", "-shift=0", "-state=1000", "-interval=1s", "-batch=40", "-duration=8s")
	if err != nil {
		t.Fatal(err)
	}
	if done.Plans == 0 || done.Moved < 80 {
		t.Errorf("%+v: about 100 keys should have moved", done)
	}
}

type logTest struct {
	ctx context.Context
	*bus
}

// frames are markers for instances, so that each is told by its epoch and version.
func frames(epoch, marker int64, floor uint64, to ...int32) (list []*Outgoing) {
	for _, i := range to {
		list = append(list, &Outgoing{Frame: Frame{Epoch: epoch, Marker: marker, Floor: floor}, To: i})
	}
	return list
}

// TestFence has a router append under an old epoch, when there is a higher one in its channels.
func TestFence(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	address, stop, err := startServer(ctx, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	b, err := connect(address)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	l := &logTest{ctx, b}
	open := func(router string) *appender { return &appender{l.bus, router, map[int32]uint64{}} }
	old := open("r1")
	sent := 0
	first := frames(1, 7, 3, 0, 1)
	if err := old.Append(l.ctx, first, func() { sent++ }); err != nil || sent != 1 || !first[0].Done || !first[1].Done {
		t.Fatalf("%v; sent %d times", err, sent)
	}
	other, next := open("r2"), open("r1")
	if floor, err := l.Floor(ctx, "r1"); err != nil || floor != 3 {
		t.Errorf("the floor is %d, %v", floor, err)
	}
	if err := next.Append(l.ctx, frames(2, 7, 4, 1), func() {}); err != nil {
		t.Fatal(err)
	}
	late := frames(1, 8, 9, 1)
	if err := old.Append(l.ctx, late, func() {}); !errors.Is(err, errFenced) || late[0].Done {
		t.Errorf("an append under an old epoch: %v", err)
	}
	for _, f := range [][]*Outgoing{frames(2, 9, 5, 1, 0), frames(2, 10, 6, 1)} {
		if err := next.Append(l.ctx, f, func() {}); err != nil {
			t.Fatal(err)
		}
	}
	if err := other.Append(l.ctx, frames(5, 11, 1, 1), func() {}); err != nil { // of another router
		t.Fatal(err)
	}
	if floor, err := l.Floor(ctx, "r1"); err != nil || floor != 6 {
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

// marker is a frame that was read.
type marker struct {
	text string
	at   uint64
}

func (m marker) String() string { return m.text }

// channel reads so many frames of an instance.
func (l *logTest) channel(t *testing.T, instance string, after uint64, n int) (all []marker) {
	t.Helper()
	for _, m := range l.read(t, Channels, instance, after, n) {
		f, err := DecodeFrame(m.Content)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, marker{fmt.Sprint(m.From, " ", f.Epoch, " ", f.Marker), m.At})
	}
	return all
}

// read reads so many messages of a stream.
func (l *logTest) read(t *testing.T, stream Stream, of string, after uint64, n int) (all []*Message) {
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
