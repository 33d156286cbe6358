package tcpproxy

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"testing"

	"go.uber.org/goleak"
)

// echo is a server that answers each line with itself.
func echo(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(conn, conn) }()
		}
	}()
	return listener.Addr().String()
}

func TestProxy(t *testing.T) {
	target := echo(t)
	before := goleak.IgnoreCurrent()
	p, err := New(target)
	if err != nil {
		t.Fatal(err)
	}
	dial := func() (net.Conn, chan string) {
		conn, err := net.Dial("tcp", p.Addr())
		if err != nil {
			t.Fatal(err)
		}
		lines := make(chan string, 10)
		go func() {
			defer close(lines)
			for in := bufio.NewScanner(conn); in.Scan(); {
				lines <- in.Text()
			}
		}()
		return conn, lines
	}
	say := func(conn net.Conn, text string) { _, _ = fmt.Fprintln(conn, text) }
	old, answers := dial()
	if say(old, "one"); <-answers != "one" {
		t.Error("nothing passes")
	}
	p.Swallow()
	say(old, "two")
	fresh, later := dial()
	say(fresh, "three")
	select {
	case text := <-answers:
		t.Errorf("%q passes", text)
	case text := <-later:
		t.Errorf("%q passes", text)
	default:
	}
	p.Pass()
	if a, b := <-answers, <-later; a != "two" || b != "three" {
		t.Errorf("after the network came back: %q, %q", a, b)
	}
	p.Forget()
	say(old, "lost")
	young, last := dial()
	if say(young, "found"); <-last != "found" {
		t.Error("a new connection is swallowed")
	}
	select {
	case text := <-answers:
		t.Errorf("%q passes", text)
	default:
	}
	p.Redirect("127.0.0.1:1")
	if _, open := <-last; open {
		t.Error("a connection to the server before lives")
	}
	if _, open := <-func() chan string { _, nobody := dial(); return nobody }(); open {
		t.Error("a server that is not there answers")
	}
	p.Redirect(target)
	p.Cut()
	if _, open := <-answers; open {
		t.Error("a connection that was cut answers")
	}
	silent, _ := dial()
	say(silent, "four")
	p.Swallow()
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	for _, conn := range []net.Conn{old, fresh, young, silent} {
		_ = conn.Close()
	}
	goleak.VerifyNone(t, before)
}
