package plannerd.kafka;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import plannerd.sdk.client.Json;

/** A server that answers for routing tables, or does what servers do that are in trouble. */
final class FakePlannerd implements AutoCloseable {
  /** What a request comes to. */
  enum Mood { WELL, FAILS, HANGS, BREAKS, TALKS_NONSENSE, KNOWS_NOTHING }

  private final HttpServer server;
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private Mood mood = Mood.WELL;
  private Map<String, Object> table = Map.of();
  private int version;
  private int answers;

  FakePlannerd() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext("/", this::answer);
    server.setExecutor(threads);
    server.start();
  }

  String url() {
    return "http://127.0.0.1:" + server.getAddress().getPort();
  }

  synchronized void is(Mood next) {
    mood = next;
    notifyAll();
  }

  /** Has another table committed. */
  synchronized void commit(Map<String, String> members) {
    publish(members, null, null);
  }

  /** Has a plan in some phase, whose table would be another. */
  synchronized void hand(Map<String, String> committed, Map<String, String> next, String phase) {
    publish(committed, next, phase);
  }

  /** Has an answer that is made by the caller. */
  synchronized void say(Map<String, Object> answer) {
    version++;
    table = answer;
    notifyAll();
  }

  private void publish(Map<String, String> members, Map<String, String> next, String phase) {
    TreeSet<String> names = new TreeSet<>(members.values());
    if (next != null) {
      names.addAll(next.values());
    }
    List<String> order = new ArrayList<>(names);
    List<Map<String, Object>> instances = order.stream()
        .map(n -> Map.<String, Object>of("id", order.indexOf(n), "name", n)).toList();
    Map<String, Object> t = new HashMap<>(Map.of("operator", "work", "scheme", "table", "version", version + 1,
        "origin", "test", "config_version", 1, "hash", Map.of("function", "reported"), "instances", instances,
        "entries", entries(members, order)));
    if (next != null) {
      Map<String, Object> pending = new HashMap<>(Map.of("plan", "p", "batch", 1, "version", version + 2,
          "config_version", 1, "phase", phase, "executor", "test", "executor_epoch", 1, "routers", Map.of()));
      pending.putAll(Map.of("awaits", List.of(), "hash", Map.of("function", "reported"), "instances", instances,
          "set", entries(next, order), "unset", List.of()));
      t.put("pending", pending);
    }
    say(t);
  }

  private static List<Map<String, Object>> entries(Map<String, String> members, List<String> order) {
    return new TreeMap<>(members).entrySet().stream()
        .map(e -> Map.<String, Object>of("key", e.getKey(), "instance", order.indexOf(e.getValue()))).toList();
  }

  /** Returns how many tables it has told. */
  synchronized int answers() {
    return answers;
  }

  private void answer(HttpExchange x) throws IOException {
    String etag;
    byte[] body;
    synchronized (this) {
      String query = String.valueOf(x.getRequestURI().getQuery());
      long end = System.nanoTime() + (query.contains("wait=") ? TimeUnit.SECONDS.toNanos(20) : 0);
      String has = x.getRequestHeaders().getFirst("If-None-Match");
      try {
        while (mood == Mood.WELL && tag().equals(has) && end - System.nanoTime() > 0) {
          wait(Math.max(1, (end - System.nanoTime()) / 1_000_000));
        }
        while (mood == Mood.HANGS) {
          wait();
        }
      } catch (InterruptedException e) {
        x.close();
        return;
      }
      if (mood != Mood.WELL) {
        misbehave(x);
        return;
      }
      etag = tag();
      body = tag().equals(has) ? null : Json.MAPPER.writeValueAsBytes(table);
      answers++;
    }
    x.getResponseHeaders().set("Content-Type", "application/json");
    x.getResponseHeaders().set("ETag", etag);
    send(x, body == null ? 304 : 200, body);
  }

  private String tag() {
    return "\"" + version + "\"";
  }

  private void misbehave(HttpExchange x) throws IOException {
    switch (mood) {
      case FAILS -> send(x, 503, "{}".getBytes(StandardCharsets.UTF_8));
      case TALKS_NONSENSE -> send(x, 200, "{\"operator\": [7".getBytes(StandardCharsets.UTF_8));
      case KNOWS_NOTHING -> {
        x.getResponseHeaders().set("Content-Type", "application/problem+json");
        send(x, 404, "{\"code\":\"operator_not_found\"}".getBytes(StandardCharsets.UTF_8));
      }
      default -> x.close();
    }
  }

  private static void send(HttpExchange x, int status, byte[] body) throws IOException {
    x.sendResponseHeaders(status, body == null ? -1 : body.length);
    if (body != null) {
      x.getResponseBody().write(body);
    }
    x.close();
  }

  @Override
  public void close() {
    server.stop(0);
    threads.shutdownNow();
  }
}
