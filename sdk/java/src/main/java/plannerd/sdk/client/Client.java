package plannerd.sdk.client;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.function.Supplier;
import java.util.zip.GZIPOutputStream;

/**
 * A client of one plannerd. Threads may share it. Methods throw {@link ApiException} for what the
 * server refuses, and other IOExceptions where it cannot be reached.
 */
public final class Client {
  private static final String IDEMPOTENCY_KEY = "Idempotency-Key";
  private static final int LEAST_COMPRESSED = 1 << 16;
  private static final Duration ANSWER_TIME = Duration.ofMinutes(1);

  private final String base;
  private final Supplier<String> token;
  private final Retry retry;
  private final HttpClient http;

  /** Returns a client without a token, which repeats calls by {@link Retry#DEFAULT}. */
  public Client(String address) {
    this(address, null, Retry.DEFAULT);
  }

  /**
   * Returns a client.
   *
   * @param address such as {@code http://127.0.0.1:8080}
   * @param token gives the token of a request; null: there is none
   */
  public Client(String address, Supplier<String> token, Retry retry) {
    this.base = address.replaceAll("/+$", "");
    this.token = token;
    this.retry = retry;
    this.http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(Duration.ofSeconds(10))
        .build();
  }

  /**
   * Creates an operator, or changes its configuration.
   *
   * @param configuration what Jackson writes as the API's OperatorConfiguration: a tree or a map. Its
   *     instances may be names: {@code Map.of("instances", List.of("worker-a", "worker-b"))}
   */
  public JsonNode putOperator(String operator, Object configuration) throws IOException, InterruptedException {
    return call(request("PUT", "operators", operator).keyed().body(configuration)).json(JsonNode.class);
  }

  public JsonNode getOperator(String operator) throws IOException, InterruptedException {
    return call(request("GET", "operators", operator)).json(JsonNode.class);
  }

  /** Sends the statistics of an interval, and has a plan made of them. */
  public Plan createPlan(String operator, long interval, Statistics of) throws IOException, InterruptedException {
    return call(request("POST", "operators", operator, "plans").keyed().rows(interval, of)).json(Plan.class);
  }

  /** Has a plan made of what instances have reported of an interval. */
  public Plan createPlanOfReports(String operator, long interval) throws IOException, InterruptedException {
    return call(request("POST", "operators", operator, "plans").keyed().body(Map.of("interval", interval)))
        .json(Plan.class);
  }

  /** Reports what the keys of one instance have cost. */
  public void putReport(String operator, long interval, int instance, Statistics of)
      throws IOException, InterruptedException {
    putReport(operator, interval, Integer.toString(instance), of);
  }

  /** Reports what the keys of the instance of a name have cost. */
  public void putReport(String operator, long interval, String instance, Statistics of)
      throws IOException, InterruptedException {
    call(request("PUT", "operators", operator, "intervals", Long.toString(interval), "reports", instance).keyed()
        .rows(interval, of));
  }

  public Plan getPlan(String plan) throws IOException, InterruptedException {
    return call(request("GET", "plans", plan)).json(Plan.class);
  }

  /**
   * Waits for a plan that the operator's engine is to carry out: the approved one, or one whose
   * executor may have died.
   *
   * @param wait at most a minute
   * @return null where there is none
   */
  public Plan nextPlan(String operator, Duration wait) throws IOException, InterruptedException {
    Request r = request("GET", "operators", operator, "next-plan").query("wait", wait.toMillis() + "ms");
    r.time = ANSWER_TIME.plus(wait);
    return Json.MAPPER.treeToValue(call(r).json(JsonNode.class).get("plan"), Plan.class);
  }

  /** Starts a plan that is approved, or takes one over from an executor with a lower epoch. */
  public Plan startPlan(String plan, String executor, long executorEpoch) throws IOException, InterruptedException {
    return step(plan, "start", Map.of("executor", executor, "executor_epoch", executorEpoch));
  }

  /**
   * Acknowledges for instances; that of the last commits the batch.
   *
   * @param instances their ids, which are integers, or their names
   */
  public Plan ackPlan(String plan, List<?> instances, long executorEpoch, long batch)
      throws IOException, InterruptedException {
    return step(plan, "acks", Map.of("instances", instances, "executor_epoch", executorEpoch, "batch", batch));
  }

  /** Commits a plan of an engine that stands still and has moved everything. */
  public Plan commitPlan(String plan) throws IOException, InterruptedException {
    return step(plan, "commit", Map.of("stopped", true));
  }

  /**
   * Begins to abort a plan, or ends that.
   *
   * @param rolledBack all instances are back where they were
   */
  public Plan abortPlan(String plan, long executorEpoch, boolean rolledBack) throws IOException, InterruptedException {
    Map<String, Object> body = new LinkedHashMap<>(Map.of("executor_epoch", executorEpoch));
    if (rolledBack) {
      body.put("rolled_back", true);
    }
    return step(plan, "abort", body);
  }

  /**
   * Makes a plan that brings the routing table of an earlier version back. It is carried out as any
   * other.
   *
   * @param toVersion that before a plan is its baseVersion; null: that before the committed one
   */
  public Plan undo(String operator, Long toVersion) throws IOException, InterruptedException {
    Map<String, Object> body = toVersion == null ? Map.of() : Map.of("to_version", toVersion);
    return call(request("POST", "operators", operator, "undo").keyed().body(body)).json(Plan.class);
  }

  /** Holds an operator: until then no plan of it is made or started. Takes the role approver. */
  public void freeze(String operator, Instant until, String reason)
      throws IOException, InterruptedException {
    call(
        request("PUT", "operators", operator, "freeze")
            .body(Map.of("until", until.toString(), "reason", reason)));
  }

  /** Ends what {@link #freeze} began. */
  public void unfreeze(String operator) throws IOException, InterruptedException {
    call(request("DELETE", "operators", operator, "freeze"));
  }

  private Plan step(String plan, String verb, Object body) throws IOException, InterruptedException {
    return call(request("POST", "plans", plan, verb).keyed().body(body)).json(Plan.class);
  }

  /**
   * Registers a router, or with the epoch of its registration extends its lease. It registers
   * before it reads the routing table, and sends its first message after that.
   *
   * @param epoch null: it registers
   */
  public Router putRouter(String operator, String router, Duration lease, Long epoch)
      throws IOException, InterruptedException {
    Map<String, Object> body = new LinkedHashMap<>(Map.of("lease", lease.toMillis() + "ms"));
    if (epoch != null) {
      body.put("epoch", epoch);
    }
    return call(request("PUT", "operators", operator, "routers", router).body(body)).json(Router.class);
  }

  /** Returns all routers, those whose leases have run out included. */
  public List<Router> listRouters(String operator) throws IOException, InterruptedException {
    List<Router> out = new ArrayList<>();
    for (JsonNode r : call(request("GET", "operators", operator, "routers")).json(JsonNode.class).get("routers")) {
      out.add(Json.MAPPER.treeToValue(r, Router.class));
    }
    return out;
  }

  /** Removes a router that sends nothing more. */
  public void deleteRouter(String operator, String router) throws IOException, InterruptedException {
    call(request("DELETE", "operators", operator, "routers", router));
  }

  /**
   * Reads the routing table: keys are in base64.
   *
   * @param since the version that the caller has; null: the whole table is wanted
   * @param wait for how long the server may keep the request until there is something new
   * @param etag of the answer that the caller has; null: none. The answer is null where it still
   *     holds
   */
  public Answer<RoutingTable> getRoutingTable(String operator, Long since, Duration wait, String etag)
      throws IOException, InterruptedException {
    Request r = request("GET", "operators", operator, "routing-table").query("key_encoding", "base64");
    if (since != null) {
      r.query("since", since.toString());
    }
    if (!wait.isZero()) {
      r.query("wait", wait.toMillis() + "ms").time = ANSWER_TIME.plus(wait);
    }
    if (etag != null) {
      r.header("If-None-Match", etag);
    }
    Response answer = call(r);
    return answer.status == 304 ? null : new Answer<>(answer.json(RoutingTable.class), answer.etag);
  }

  /** An answer and its ETag, which is null where it has none. */
  public record Answer<T>(T body, String etag) {}

  /** Begins a request of the path /v1/… */
  public static Request request(String method, String... path) {
    return new Request(method, path);
  }

  /** A request that {@link #call} makes. */
  public static final class Request {
    private final String method;
    private final StringBuilder target = new StringBuilder("/v1");
    private final Map<String, String> headers = new LinkedHashMap<>();
    private char next = '?';
    private byte[] body;
    private Duration time = ANSWER_TIME;

    private Request(String method, String... path) {
      this.method = method;
      for (String segment : path) {
        target.append('/').append(encode(segment));
      }
    }

    private static String encode(String text) {
      return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
    }

    public Request query(String name, String value) {
      target.append(next).append(name).append('=').append(encode(value));
      next = '&';
      return this;
    }

    public Request header(String name, String value) {
      headers.put(name, value);
      return this;
    }

    /** Gives the request an Idempotency-Key of its own: it changes something, once. */
    public Request keyed() {
      return header(IDEMPOTENCY_KEY, UUID.randomUUID().toString());
    }

    /** Gives the request a body of JSON. */
    public Request body(Object content) throws IOException {
      body = Json.MAPPER.writeValueAsBytes(content);
      return header("Content-Type", "application/json");
    }

    private Request rows(long interval, Statistics of) throws IOException {
      body(written(interval, of));
      if (body.length >= LEAST_COMPRESSED) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        try (OutputStream zip = new GZIPOutputStream(out)) {
          zip.write(body);
        }
        body = out.toByteArray();
        header("Content-Encoding", "gzip");
      }
      return this;
    }

    private static ObjectNode head(long interval, Statistics of) {
      ObjectNode head = Json.MAPPER.createObjectNode();
      head.put("interval", interval).put("key_encoding", "base64");
      if (of.tableVersion() != null) {
        head.put("table_version", of.tableVersion());
      }
      if (of.tableOrigin() != null) {
        head.put("table_origin", of.tableOrigin());
      }
      if (of.epoch() != null) {
        head.put("epoch", of.epoch());
      }
      return head;
    }

    private static ObjectNode written(long interval, Statistics of) {
      ObjectNode out = head(interval, of);
      var list = out.putArray("keys");
      for (Row r : of.rows()) {
        ObjectNode row = list.addObject();
        row.put("key", Base64.getEncoder().encodeToString(r.key())).put("cost", r.cost()).put("state", r.state());
        if (r.instance() >= 0) {
          row.put("instance", r.instance());
        }
        if (!r.costs().isEmpty()) {
          row.set("costs", Json.MAPPER.valueToTree(r.costs()));
        }
      }
      return out;
    }
  }

  /** An answer that is no refusal. */
  public static final class Response {
    private final int status;
    private final String etag;
    private final byte[] body;

    private Response(HttpResponse<byte[]> r) {
      status = r.statusCode();
      etag = r.headers().firstValue("ETag").orElse(null);
      body = r.body();
    }

    public int status() {
      return status;
    }

    /** Returns the ETag; null: there is none. */
    public String etag() {
      return etag;
    }

    public <T> T json(Class<T> type) throws IOException {
      return Json.MAPPER.readValue(body, type);
    }
  }

  /** Makes a call, again and again where that is safe and may help. */
  public Response call(Request r) throws IOException, InterruptedException {
    for (int attempt = 1; ; attempt++) {
      Duration wait;
      try {
        return attempt(r, attempt);
      } catch (ApiException e) {
        if (attempt >= retry.attempts() || !e.isTemporary() || e.retryAfter().compareTo(retry.patience()) > 0) {
          throw e;
        }
        wait = retry.wait(attempt).plus(e.retryAfter());
      } catch (IOException e) { // nobody knows whether the request came through
        if (attempt >= retry.attempts()) {
          throw e;
        }
        wait = retry.wait(attempt);
      }
      Thread.sleep(wait.toMillis());
    }
  }

  private Response attempt(Request r, int attempt) throws IOException, InterruptedException {
    HttpRequest.BodyPublisher content = r.body == null ? HttpRequest.BodyPublishers.noBody()
        : HttpRequest.BodyPublishers.ofByteArray(r.body);
    HttpRequest.Builder b = HttpRequest.newBuilder(URI.create(base + r.target)).method(r.method, content)
        .timeout(r.time).header("Accept", "application/json");
    r.headers.forEach(b::header);
    if (token != null) {
      b.header("Authorization", "Bearer " + token.get());
    }
    HttpResponse<byte[]> answer = http.send(b.build(), BodyHandlers.ofByteArray());
    if (answer.statusCode() == 304 || answer.statusCode() >= 200 && answer.statusCode() < 300) {
      return new Response(answer);
    }
    String request = r.method + " " + r.target;
    throw new ApiException(request, answer.statusCode(), problem(answer), retryAfter(answer), attempt);
  }

  private static JsonNode problem(HttpResponse<byte[]> answer) {
    String type = answer.headers().firstValue("Content-Type").orElse("");
    if (type.startsWith("application/problem+json")) {
      try {
        return Json.MAPPER.readTree(answer.body());
      } catch (IOException e) {
        // It is shown as it is.
      }
    }
    String text = new String(answer.body(), StandardCharsets.UTF_8).strip();
    return Json.MAPPER.createObjectNode().put("detail", text.substring(0, Math.min(text.length(), 200)));
  }

  private static Duration retryAfter(HttpResponse<byte[]> answer) {
    try {
      return Duration.ofSeconds(answer.headers().firstValueAsLong("Retry-After").orElse(0));
    } catch (NumberFormatException e) {
      return Duration.ZERO; // a time of day, which this server does not send
    }
  }
}
