package collecting

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// resp is a connection to Redis or Valkey, which speaks the second version of its protocol.
type resp struct {
	net.Conn
	in *bufio.Reader
}

// respError is what a server answers where it refuses a command.
type respError string

func (e respError) Error() string { return string(e) }

// respTime is for how long all commands of a look at a node may take.
const respTime = time.Minute

// dialRESP connects, and logs in where there is a password. Closing the connection is the caller's.
func dialRESP(ctx context.Context, address string, secure *tls.Config, user, password string) (*resp, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var dial interface {
		DialContext(ctx context.Context, network, address string) (net.Conn, error)
	} = new(net.Dialer)
	if secure != nil {
		dial = &tls.Dialer{Config: secure}
	}
	conn, err := dial.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	r := &resp{conn, bufio.NewReader(conn)}
	if err := conn.SetDeadline(time.Now().Add(respTime)); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	if password != "" {
		login := []string{"AUTH", password}
		if user != "" {
			login = []string{"AUTH", user, password}
		}
		if _, err := r.one(login...); err != nil {
			return nil, errors.Join(fmt.Errorf("logging in as %q: %w", user, err), conn.Close())
		}
	}
	return r, nil
}

// one sends a command, and returns its answer: a string, an int64, a list of such, or nil. An error
// of the server is a [respError], and names the command without what may be secret.
func (r *resp) one(command ...string) (any, error) {
	answers, err := r.all([][]string{command})
	if err != nil {
		return nil, err
	}
	if refused, is := answers[0].(respError); is {
		return nil, fmt.Errorf("%s: %w", command[0], refused)
	}
	return answers[0], nil
}

// all sends commands at once, and returns their answers, some of which may be errors of the server.
func (r *resp) all(commands [][]string) (answers []any, err error) {
	var text []byte
	for _, words := range commands {
		text = fmt.Appendf(text, "*%d\r\n", len(words))
		for _, word := range words {
			text = fmt.Appendf(text, "$%d\r\n%s\r\n", len(word), word)
		}
	}
	if _, err := r.Write(text); err != nil {
		return nil, err
	}
	return r.list(int64(len(commands)), 0)
}

var errRESP = errors.New("it does not answer as Redis does")

// The greatest lists and texts of answers, and how deep lists may be in lists.
const longestList, longestText, deepestList = 1 << 20, 64 << 20, 8

// list reads n answers.
func (r *resp) list(n int64, depth int) ([]any, error) {
	if n < 0 || n > longestList || depth > deepestList {
		return nil, errRESP
	}
	list := make([]any, n)
	for i := range list {
		var err error
		if list[i], err = r.answer(depth); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (r *resp) answer(depth int) (any, error) {
	line, err := r.in.ReadString('\n')
	if err != nil {
		return nil, err
	}
	kind, rest := line[0], strings.TrimRight(line[1:], "\r\n")
	n, err := strconv.ParseInt(rest, 10, 64)
	switch {
	case kind == '+':
		return rest, nil
	case kind == '-':
		return respError(rest), nil
	case err != nil:
		return nil, errRESP
	case kind == ':':
		return n, nil
	case n == -1 && (kind == '$' || kind == '*'):
		return nil, nil
	case kind == '*':
		return r.list(n, depth+1)
	case kind != '$' || n < 0 || n > longestText:
		return nil, errRESP
	}
	text := make([]byte, n+2)
	_, err = io.ReadFull(r.in, text)
	return string(text[:n]), err
}

// pairs reads a list of names, each with a number after it.
func pairs(list any) map[string]float64 {
	cells, _ := list.([]any)
	out := map[string]float64{}
	for i := 0; i+1 < len(cells); i += 2 {
		name, named := cells[i].(string)
		if n, counted := cells[i+1].(int64); named && counted {
			out[name] = float64(n)
		}
	}
	return out
}
