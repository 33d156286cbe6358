package plannerd.sdk.router;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import plannerd.sdk.client.Client;
import plannerd.sdk.client.Retry;
import plannerd.sdk.client.RoutingTable;
import plannerd.sdk.route.HashConfig;
import plannerd.sdk.route.Node;
import plannerd.sdk.route.RouteException;

class FollowerTest {
  private static final Duration SOON = Duration.ofMinutes(1);
  private static final Retry RETRY = new Retry(1, Duration.ofMillis(1), Duration.ofMillis(2), Duration.ZERO);

  /** Gives answers as they are offered: a table, an exception, or that nothing is new. */
  private static final class Feed implements Follower.Source {
    final BlockingQueue<Object> answers = new LinkedBlockingQueue<>();
    final List<Long> since = new ArrayList<>();

    @Override
    public Client.Answer<RoutingTable> get(String operator, Long from, Duration wait, String etag)
        throws IOException, InterruptedException {
      since.add(from);
      Object next = answers.take();
      if (next instanceof IOException e) {
        throw e;
      }
      return next instanceof RoutingTable t ? new Client.Answer<>(t, "\"" + t.version() + "\"") : null;
    }
  }

  private static String key(String text) {
    return Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8));
  }

  private static RoutingTable whole(long version, String key, int instance) {
    return new RoutingTable("o", "table", "base64", version, null, null, null, 1, HashConfig.of("modulo"), null, null,
        List.of(new Node(0, 0), new Node(1, 0)), List.of(new RoutingTable.Entry(key(key), instance, null)), null, null,
        null);
  }

  private static RoutingTable change(long from, long version, String key, int instance) {
    return new RoutingTable("o", "table", "base64", version, null, from, false, 1, null, null, null, null, null,
        List.of(new RoutingTable.Entry(key(key), instance, null)), List.of(), null);
  }

  private static int at(Follower f, String key) {
    return f.lookup(key.getBytes(StandardCharsets.UTF_8)).instance();
  }

  @Test
  void itFollowsAndGoesOnWithoutTheServer() throws Exception {
    Feed feed = new Feed();
    try (Follower f = Follower.open(new Follower.Config(feed, "o", "r", null, SOON, RETRY))) {
      assertThrows(RouteException.class, () -> at(f, "a"));
      feed.answers.add(whole(1, "a", 1));
      View v = f.awaitTable(SOON);
      assertEquals(1, at(f, "a"));
      feed.answers.add(change(1, 2, "a", 0));
      v = f.next(v, SOON);
      assertEquals(2, v.table().version());
      assertEquals(0, at(f, "a"));
      feed.answers.add(new IOException("away"));
      feed.answers.add(change(7, 8, "a", 1)); // it does not fit, so the whole table is asked for
      feed.answers.add(whole(8, "a", 1));
      v = f.next(v, SOON);
      assertEquals(8, v.table().version());
      assertFalse(v.kept());
      assertNull(feed.since.get(4));
    }
  }

  @Test
  void theTableOutlivesTheRouter(@TempDir Path dir) throws Exception {
    Path file = dir.resolve("table");
    Feed feed = new Feed();
    Follower.Config config = new Follower.Config(feed, "o", "r", file, SOON, RETRY);
    try (Follower f = Follower.open(config)) {
      feed.answers.add(whole(1, "a", 1));
      View v = f.awaitTable(SOON);
      feed.answers.add(change(1, 2, "b", 1));
      v = f.next(v, SOON);
      assertNull(f.status().fileFailure());
    }
    Files.writeString(file, "{\"format\":1,\"etag", StandardOpenOption.APPEND); // a line that was not finished
    Feed silent = new Feed();
    try (Follower f = Follower.open(new Follower.Config(silent, "o", "r", file, SOON, RETRY))) {
      assertTrue(f.view().kept());
      assertEquals(1, at(f, "a"));
      assertEquals(1, at(f, "b"));
      assertEquals(2, f.view().table().version());
      View old = f.view();
      silent.answers.add("nothing new");
      View v = f.next(old, SOON);
      assertFalse(v.kept());
      assertEquals(2L, silent.since.get(0));
    }
    Files.writeString(file, "something else\n");
    try (Follower f = Follower.open(new Follower.Config(silent, "o", "r", file, SOON, RETRY))) {
      assertNull(f.view());
      assertNotNull(f.status().fileFailure());
    }
  }

  /** Names of instances are of the table, and of the plan that adds some; the file keeps them. */
  @Test
  void instancesHaveNames(@TempDir Path dir) throws Exception {
    HashConfig hash = HashConfig.of("ring");
    List<Node> now = List.of(new Node(0, 0, "worker-a"), new Node(1, 0));
    List<Node> then = List.of(new Node(0, 0, "worker-z"), new Node(1, 0), new Node(2, 0, "worker-c"));
    Feed feed = new Feed();
    Follower.Config config = new Follower.Config(feed, "o", "r", dir.resolve("table"), SOON, RETRY);
    try (Follower f = Follower.open(config)) {
      assertNull(f.name(0));
      feed.answers.add(new RoutingTable("o", "table", null, 1, null, null, null, 1, hash, null, null, now, List.of(), null,
          null, new RoutingTable.Pending("p", 1, 2, 2, "handing_over", "e", 1, null, List.of(), hash, null, null, then,
              List.of(), List.of())));
      f.awaitTable(SOON);
      assertEquals("worker-a", f.name(0));
      assertNull(f.name(1));
      assertEquals("worker-c", f.name(2));
    }
    try (Follower f = Follower.open(config)) {
      assertEquals("worker-a", f.name(0));
    }
    assertTrue(HashConfig.same(hash, now, hash, List.of(new Node(0, 128, "renamed"), new Node(1, 0))));
  }

  @Test
  void itStopsWhereThereIsNoTable() throws Exception {
    Feed feed = new Feed();
    feed.answers.add(new RoutingTable("o", "ring", null, 1, null, null, null, 1, null, null, null, null, null, null, null, null));
    try (Follower f = Follower.open(new Follower.Config(feed, "o", "r", null, SOON, RETRY))) {
      assertNull(f.next(null, SOON));
      assertTrue(f.status().stopped());
      assertTrue(f.status().failure().getMessage().contains("ring"));
    }
  }
}
