package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   []byte
	// closed: the connection ended without an answer, which is one to bytes that are
	// no request.
	closed bool
}

// target is what requests are sent to. An error says that no whole answer came.
type target interface {
	send(ctx context.Context, r *request) (*answer, error)
}

// remote is a server at the end of a connection.
type remote struct {
	url      string // without a slash at the end
	client   *http.Client
	patience time.Duration
}

func newRemote(url string, clients int, patience time.Duration) *remote {
	return &remote{url: strings.TrimSuffix(url, "/"), patience: patience, client: &http.Client{
		Transport:     &http.Transport{MaxIdleConnsPerHost: clients, DisableCompression: true, ExpectContinueTimeout: time.Second},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       patience,
	}}
}

func (t *remote) send(ctx context.Context, r *request) (*answer, error) {
	out, err := r.build(ctx, t.url)
	if err != nil {
		return nil, err
	}
	if r.lie != "" {
		return t.sendBytes(ctx, r, out)
	}
	in, err := t.client.Do(out)
	if err != nil {
		return nil, err
	}
	return read(in)
}

func read(in *http.Response) (*answer, error) {
	defer in.Body.Close() // it is read to its end, or failed
	body, err := io.ReadAll(in.Body)
	if err != nil {
		return nil, fmt.Errorf("status %d, and the body broke off: %w", in.StatusCode, err)
	}
	return &answer{status: in.StatusCode, header: in.Header, body: body}, nil
}

// lies are the ways in which the bytes of a request can be wrong.
var lies = []string{
	"a Content-Length that is too great", "a Content-Length that is too small", "a negative Content-Length", "two different Content-Lengths", "a chunk of no length",
	"chunks that break off", "HTTP/3.7", "no Host", "a NUL in a header", "a head of 80 KiB", "a head that does not end", "a blank in the target", "nothing but a line",
}

// sendBytes writes the request by hand, with its lie in it.
func (t *remote) sendBytes(ctx context.Context, r *request, out *http.Request) (*answer, error) {
	connection, err := new(net.Dialer).DialContext(ctx, "tcp", out.URL.Host)
	if err != nil {
		return nil, err
	}
	defer connection.Close() // what was to be read was read
	if err := connection.SetDeadline(time.Now().Add(t.patience)); err != nil {
		return nil, err
	}
	head, body := lying(r, out)
	// A server may have answered and hung up before it has read everything.
	_, _ = io.WriteString(connection, head)
	_, _ = connection.Write(body)
	if r.lie == "chunks that break off" || r.lie == "a head that does not end" {
		if half, ok := connection.(*net.TCPConn); ok {
			_ = half.CloseWrite() // see above
		}
	}
	in, err := http.ReadResponse(bufio.NewReader(connection), out)
	var a *answer
	if err == nil {
		a, err = read(in)
	}
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		return &answer{closed: true}, nil // with what was sent still unread, an answer can be lost on its way
	}
	return a, err
}

// lying writes a request as bytes.
func lying(r *request, out *http.Request) (head string, body []byte) {
	body = r.body
	target, protocol := out.URL.RequestURI(), "HTTP/1.1"
	fields := []string{"Host: " + out.Host, "X-Request-Id: " + r.id}
	for _, h := range r.header {
		if h.name != "Host" && h.name != "Expect" {
			fields = append(fields, h.name+": "+h.value)
		}
	}
	length := fmt.Sprint("Content-Length: ", len(body))
	switch r.lie {
	case "a Content-Length that is too great":
		length = fmt.Sprint("Content-Length: ", len(body)+7)
	case "a Content-Length that is too small":
		length = fmt.Sprint("Content-Length: ", len(body)/2)
	case "a negative Content-Length":
		length = "Content-Length: -1"
	case "two different Content-Lengths":
		length += "\r\nContent-Length: 1" + strconv.Itoa(len(body))
	case "a chunk of no length":
		length, body = "Transfer-Encoding: chunked", append([]byte("zz\r\n"), body...)
	case "chunks that break off":
		length, body = "Transfer-Encoding: chunked", fmt.Appendf(nil, "%x\r\n%s", len(body)+9, body)
	case "HTTP/3.7":
		protocol = r.lie
	case "no Host":
		fields = fields[1:]
	case "a NUL in a header":
		fields = append(fields, "X-Nothing: a\x00b")
	case "a head of 80 KiB":
		fields = append(fields, "X-Long: "+strings.Repeat("x", 80<<10))
	case "a blank in the target":
		target += " x"
	case "nothing but a line":
		return "FUZZ\r\n\r\n", nil
	}
	head = r.method + " " + target + " " + protocol + "\r\n" + strings.Join(append(fields, length), "\r\n") + "\r\n"
	if r.lie != "a head that does not end" {
		head += "\r\n"
	}
	return head, bytes.Clone(body)
}
