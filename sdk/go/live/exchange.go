package live

import (
	"bytes"
	"cmp"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
)

// ask sends a request to an instance, which may be this one.
func (n *Node) ask(ctx context.Context, to int32, r request) (answer, error) {
	if to == n.Instance {
		return ask(ctx, itself{n}, to, r)
	}
	return ask(ctx, n.exchange, to, r)
}

type itself struct{ *Node }

func (n itself) Call(ctx context.Context, _ int32, request []byte) ([]byte, error) {
	return n.Answer(ctx, request)
}

// Local is an exchange between the nodes of one process. Its zero value has none.
type Local struct {
	mu    sync.Mutex
	nodes map[int32]*Node
}

// Put has the node answer for its instance from now on.
func (l *Local) Put(n *Node) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.nodes == nil {
		l.nodes = map[int32]*Node{}
	}
	l.nodes[n.Instance] = n
}

// Call implements [Exchange].
func (l *Local) Call(ctx context.Context, to int32, request []byte) ([]byte, error) {
	l.mu.Lock()
	n := l.nodes[to]
	l.mu.Unlock()
	if n == nil {
		return nil, errClosed
	}
	return n.Answer(ctx, request)
}

// HTTP is an exchange between processes: requests are posted to the [Node.Handler] of each.
type HTTP struct {
	// URL is where the handler of an instance is.
	URL func(instance int32) string
	// Token is what all nodes know; "": nodes answer only requests of the same machine.
	Token string
	// Client sends the requests; with TLS of your own, for instance. Defaults to
	// [http.DefaultClient].
	Client *http.Client
}

// mostBody bounds the body of a request or an answer, in bytes. States and messages are in base64 there.
const mostBody = 64 << 20

// Call implements [Exchange].
func (h HTTP) Call(ctx context.Context, to int32, request []byte) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL(to), bytes.NewReader(request))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	if h.Token != "" {
		r.Header.Set("Authorization", "Bearer "+h.Token)
	}
	a, err := cmp.Or(h.Client, http.DefaultClient).Do(r)
	if err != nil {
		return nil, err
	}
	defer a.Body.Close()
	text, err := io.ReadAll(io.LimitReader(a.Body, mostBody))
	if err == nil && a.StatusCode != http.StatusOK {
		err = fmt.Errorf("live: instance %d answers %s", to, a.Status)
	}
	return text, err
}

// Handler answers other nodes that know the token; without one, those of the same machine.
// Whoever can ask it can read and change all states.
func (n *Node) Handler(token string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || !admits(token, r) {
			http.Error(w, "this is for the other instances", http.StatusForbidden)
			return
		}
		text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostBody))
		if err == nil {
			text, err = n.Answer(r.Context(), text)
		}
		if err != nil {
			status := http.StatusServiceUnavailable
			if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
				status = http.StatusRequestEntityTooLarge
			}
			http.Error(w, "not now", status)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(text)
	})
}

// admits reports whether a request comes from another node.
func admits(token string, r *http.Request) bool {
	if token == "" {
		host, _, err := net.SplitHostPort(r.RemoteAddr)
		return err == nil && net.ParseIP(host).IsLoopback()
	}
	said, is := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return is && subtle.ConstantTimeCompare([]byte(said), []byte(token)) == 1
}
