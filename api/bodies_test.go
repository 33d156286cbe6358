package api_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"plannerd/api"
)

// TestUnfinishedBodies: clients that begin a body and fall silent hold nothing that others
// need.
func TestUnfinishedBodies(t *testing.T) {
	e := newEnv(t, little)
	e.operator("clicks", `{"instances":2}`)
	server := httptest.NewServer(e.handler)
	defer server.Close()
	address := server.Listener.Addr().String()
	var all []net.Conn
	defer func() {
		for _, conn := range all {
			_ = conn.Close()
		}
	}()
	for _, length := range []string{
		"Content-Length: 1000", "Content-Length: 60000", "Content-Length: 100000000", "Transfer-Encoding: chunked",
	} {
		for range 20 {
			begin := "{"
			if strings.HasPrefix(length, "T") {
				begin = "1\r\n{\r\n"
			}
			all = append(all, say(t, address, "POST /v1/operators/clicks/plans HTTP/1.1\r\nHost: x\r\n"+
				"Content-Type: application/json\r\n"+length+"\r\n\r\n"+begin))
		}
	}
	e.until("plannerd_http_requests_in_flight", "81") // the one that asks, too
	if v := e.metric("plannerd_memory_reserved_bytes"); v != "0" {
		t.Errorf("%s bytes reserved", v)
	}
	e.do("POST", "/v1/operators/clicks/plans", fiveKeys).want(http.StatusCreated)
	e.do("POST", "/v1/what-if?instances=2&hash_function=modulo", longKeys(1000), csv).want(http.StatusOK)
}

// TestLongRefusedBody: a client that sends its whole body before it reads sees why it was
// refused, though nothing of the body was wanted.
func TestLongRefusedBody(t *testing.T) {
	e := newEnv(t, little, func(c *api.Config) { c.Limits.Statistics.Bytes = mib })
	address, _ := e.listen()
	const length = 32 * mib // more than the buffers of a connection
	conn := say(t, address, fmt.Sprintf("POST /v1/what-if?instances=2 HTTP/1.1\r\nHost: x\r\nContent-Type: text/csv\r\n"+
		"Content-Length: %d\r\n\r\n", length))
	if _, err := io.CopyN(conn, endlessRows{}, length); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusRequestEntityTooLarge {
		t.Error(response.Status)
	}
}

// endlessRows is a body without an end.
type endlessRows struct{}

func (endlessRows) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '\n'
	}
	return len(p), nil
}
