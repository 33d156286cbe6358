package plannerd.sdk.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class ClientTest {
  /** A request as the server saw it. */
  private record Seen(String method, String target, String idempotencyKey, String etag, String token, JsonNode body) {}

  /** An answer that the server gives, one after the other. */
  private record Scripted(int status, String contentType, String etag, String retryAfter, String body) {
    static Scripted ok(String body) {
      return new Scripted(200, "application/json", "\"1\"", null, body);
    }

    static Scripted problem(int status, String code) {
      String body = "{\"status\":" + status + ",\"code\":\"" + code + "\",\"detail\":\"it is so\",\"more\":7}";
      return new Scripted(status, "application/problem+json", null, null, body);
    }
  }

  private final List<Seen> seen = new ArrayList<>();
  private final List<Scripted> script = new ArrayList<>();
  private HttpServer server;
  private Client client;

  @BeforeEach
  void start() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext("/", this::answer);
    server.start();
    client = new Client("http://127.0.0.1:" + server.getAddress().getPort() + "/", () -> "secret",
        new Retry(3, Duration.ofMillis(1), Duration.ofMillis(2), Duration.ofSeconds(5)));
  }

  @AfterEach
  void stop() {
    server.stop(0);
  }

  private void answer(HttpExchange x) throws IOException {
    InputStream in = x.getRequestBody();
    if ("gzip".equals(x.getRequestHeaders().getFirst("Content-Encoding"))) {
      in = new GZIPInputStream(in);
    }
    JsonNode body = Json.MAPPER.readTree(in.readAllBytes());
    seen.add(new Seen(x.getRequestMethod(), x.getRequestURI().toString(),
        x.getRequestHeaders().getFirst("Idempotency-Key"), x.getRequestHeaders().getFirst("If-None-Match"),
        x.getRequestHeaders().getFirst("Authorization"), body));
    Scripted next = script.remove(0);
    if (next.status == 0) { // the connection breaks
      x.close();
      return;
    }
    if (next.contentType != null) {
      x.getResponseHeaders().set("Content-Type", next.contentType);
    }
    if (next.etag != null) {
      x.getResponseHeaders().set("ETag", next.etag);
    }
    if (next.retryAfter != null) {
      x.getResponseHeaders().set("Retry-After", next.retryAfter);
    }
    byte[] text = next.body.getBytes(StandardCharsets.UTF_8);
    x.sendResponseHeaders(next.status, text.length == 0 ? -1 : text.length);
    x.getResponseBody().write(text);
    x.close();
  }

  @Test
  void aCallIsRepeatedUnderOneKey() throws Exception {
    script.add(Scripted.problem(503, "unavailable"));
    script.add(new Scripted(0, null, null, null, ""));
    script.add(Scripted.ok("{\"id\":\"p\",\"status\":\"applying\",\"awaits\":[0,2],\"routers\":{\"r\":3},\"x\":{}}"));
    Plan p = client.startPlan("p", "engine", 5);
    assertEquals(new Plan("p", null, "applying", List.of(0, 2), java.util.Map.of("r", 3L), null, null), p);
    assertEquals(3, seen.size());
    assertEquals("/v1/plans/p/start", seen.get(0).target);
    assertEquals("Bearer secret", seen.get(0).token);
    assertEquals(5, seen.get(2).body.get("executor_epoch").asInt());
    assertTrue(seen.get(0).idempotencyKey.length() > 20);
    assertEquals(seen.get(0).idempotencyKey, seen.get(2).idempotencyKey);
    script.add(Scripted.ok("{}"));
    client.startPlan("p", "engine", 5);
    assertNotEquals(seen.get(0).idempotencyKey, seen.get(3).idempotencyKey);
  }

  @Test
  void refusalsAreNotRepeated() {
    script.add(Scripted.problem(409, "fenced"));
    ApiException e = assertThrows(ApiException.class, () -> client.ackPlan("p", List.of(1), 2, 1));
    assertTrue(e.is(ApiException.FENCED), e::code);
    assertEquals(409, e.status());
    assertEquals(1, e.attempts());
    assertEquals(7, e.problem().get("more").asInt());
    assertTrue(e.getMessage().contains("it is so"), e::getMessage);
  }

  @Test
  void retriesEnd() {
    for (int i = 0; i < 3; i++) {
      script.add(new Scripted(502, "text/html", null, null, "<h1>Bad gateway</h1>"));
    }
    ApiException e = assertThrows(ApiException.class, () -> client.getPlan("p"));
    assertEquals(3, e.attempts());
    assertEquals("", e.code());
    script.add(new Scripted(503, "text/html", null, "3600", ""));
    e = assertThrows(ApiException.class, () -> client.getPlan("p"));
    assertEquals(Duration.ofHours(1), e.retryAfter());
    assertEquals(4, seen.size());
  }

  @Test
  void statisticsAreSentWithKeysOfAnyBytes() throws Exception {
    List<Row> rows = new ArrayList<>();
    rows.add(new Row(new byte[] {(byte) 0xff, 0}, 1.5, 7, 2));
    rows.add(new Row(new byte[] {1}, 1, 7, -1, Map.of("network", 2.5)));
    for (int i = 0; i < 3000; i++) {
      rows.add(new Row(("key-" + i).getBytes(StandardCharsets.UTF_8), i, 0));
    }
    script.add(Scripted.ok("{\"id\":\"p\",\"status\":\"approved\"}"));
    assertEquals(Plan.APPROVED, client.createPlan("a/b", 9, new Statistics(rows, 4L, "0123456789ab", null)).status());
    Seen s = seen.get(0);
    assertEquals("/v1/operators/a%2Fb/plans", s.target);
    assertEquals("{\"key\":\"/wA=\",\"cost\":1.5,\"state\":7.0,\"instance\":2}", s.body.get("keys").get(0).toString());
    assertEquals("{\"key\":\"AQ==\",\"cost\":1.0,\"state\":7.0,\"costs\":{\"network\":2.5}}",
        s.body.get("keys").get(1).toString());
    assertEquals(3002, s.body.get("keys").size());
    assertEquals(4, s.body.get("table_version").asInt());
    assertEquals("0123456789ab", s.body.get("table_origin").asText());
    assertTrue(s.body.get("keys").get(1).get("instance") == null);
  }

  @Test
  void tablesAreReadIfTheyChanged() throws Exception {
    script.add(Scripted.ok("{\"operator\":\"o\",\"scheme\":\"table\",\"version\":3,\"hash\":{\"function\":\"modulo\"},"
        + "\"instances\":[{\"id\":0}],\"entries\":[{\"key\":\"YQ==\",\"instance\":0}],\"pending\":null,\"news\":1}"));
    Client.Answer<RoutingTable> a = client.getRoutingTable("o", null, Duration.ZERO, null);
    assertEquals("\"1\"", a.etag());
    assertEquals(3, a.body().version());
    assertTrue(a.body().isWhole());
    script.add(new Scripted(304, null, "\"1\"", null, ""));
    assertNull(client.getRoutingTable("o", 3L, Duration.ofSeconds(2), a.etag()));
    assertEquals("/v1/operators/o/routing-table?key_encoding=base64&since=3&wait=2000ms", seen.get(1).target);
    assertEquals("\"1\"", seen.get(1).etag);
  }

  @Test
  void anEarlierTableIsBroughtBack() throws Exception {
    for (Long version : new Long[] {null, 3L}) {
      script.add(Scripted.ok("{\"id\":\"p\",\"status\":\"proposed\",\"awaits\":[0]}"));
      assertEquals("p", client.undo("o", version).id());
    }
    assertEquals("/v1/operators/o/undo", seen.get(0).target);
    assertEquals("{}", seen.get(0).body.toString());
    assertEquals("{\"to_version\":3}", seen.get(1).body.toString());
  }

  @Test
  void instancesGoByTheirNames() throws Exception {
    script.add(Scripted.ok("{}"));
    client.putOperator("o", Map.of("instances", List.of("worker/a", "worker-b")));
    assertEquals("{\"instances\":[\"worker/a\",\"worker-b\"]}", seen.get(0).body.toString());
    script.add(Scripted.ok("{}"));
    client.putReport("o", 7, "worker/a", new Statistics(List.of(), null, null, null));
    assertEquals("/v1/operators/o/intervals/7/reports/worker%2Fa", seen.get(1).target);
    script.add(Scripted.ok("{\"id\":\"p\",\"status\":\"committed\"}"));
    client.ackPlan("p", List.of("worker/a", 1), 2, 1);
    assertEquals("[\"worker/a\",1]", seen.get(2).body.get("instances").toString());
  }

  @Test
  void anOperatorIsFrozenAndLetGo() throws Exception {
    script.add(Scripted.ok("{}"));
    client.freeze("o", Instant.parse("2030-11-29T06:00:00Z"), "a sale");
    assertEquals("PUT /v1/operators/o/freeze", seen.get(0).method + " " + seen.get(0).target);
    assertTrue(seen.get(0).body.toString().contains("\"until\":\"2030-11-29T06:00:00Z\""));
    script.add(new Scripted(204, null, null, null, ""));
    client.unfreeze("o");
    assertEquals("DELETE /v1/operators/o/freeze", seen.get(1).method + " " + seen.get(1).target);
  }

  @Test
  void plansToCarryOutAreWaitedFor() throws Exception {
    script.add(Scripted.ok("{\"plan\":null}"));
    assertNull(client.nextPlan("o", Duration.ofSeconds(2)));
    assertEquals("/v1/operators/o/next-plan?wait=2000ms", seen.get(0).target);
    script.add(Scripted.ok("{\"plan\":{\"id\":\"p\",\"status\":\"approved\",\"awaits\":[0]}}"));
    assertEquals("p", client.nextPlan("o", Duration.ZERO).id());
  }
}
