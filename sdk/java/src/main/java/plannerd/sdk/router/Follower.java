package plannerd.sdk.router;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeoutException;
import plannerd.sdk.client.ApiException;
import plannerd.sdk.client.Client;
import plannerd.sdk.client.Retry;
import plannerd.sdk.client.RoutingTable;
import plannerd.sdk.route.Destination;
import plannerd.sdk.route.RouteException;

/**
 * Keeps a table current, in a thread of its own. Its methods may be called by any thread.
 *
 * <pre>{@code
 * try (Follower follower = Follower.open(new Follower.Config(client::getRoutingTable, "clicks", "router-1", file))) {
 *   follower.awaitTable(Duration.ofSeconds(10));
 *   Destination at = follower.lookup(key);
 *   …
 * }
 * }</pre>
 */
public final class Follower implements AutoCloseable {
  /** Answers for routing tables, as {@link Client#getRoutingTable} does. */
  @FunctionalInterface
  public interface Source {
    Client.Answer<RoutingTable> get(String operator, Long since, Duration wait, String etag)
        throws IOException, InterruptedException;
  }

  /**
   * What a follower follows.
   *
   * @param router the router's name, which decides with which part of a split key it begins
   * @param file where the last table is kept; null: nowhere. Each follower has a file of its own
   * @param patience how long the server may keep a request before it answers that there is nothing new,
   *     at most a minute
   * @param retry gives the waits after failures
   */
  public record Config(Source source, String operator, String router, Path file, Duration patience, Retry retry) {
    /** Waits up to 30 s, and after failures as {@link Retry#DEFAULT} does. */
    public Config(Source source, String operator, String router, Path file) {
      this(source, operator, router, file, Duration.ofSeconds(30), Retry.DEFAULT);
    }
  }

  /**
   * How following goes.
   *
   * @param confirmed when the server last said what the table is, as {@link System#nanoTime}; 0: it
   *     has not yet
   * @param failure why the last request failed; null: it did not
   * @param fileFailure why the table could not be read from or written to the file; null: it could
   * @param stopped the server said that the operator has no such table and never will, or the
   *     follower was closed
   */
  public record Status(long confirmed, Exception failure, Exception fileFailure, boolean stopped) {}

  private final Config config;
  private final TableFile file; // null: none
  private final Thread thread;
  private volatile View view; // null: there is none yet
  private volatile Status status = new Status(0, null, null, false);

  // Of the thread alone.
  private State state = State.NONE;
  private String etag;

  private Follower(Config config) {
    this.config = config;
    file = config.file == null ? null : new TableFile(config.file);
    thread = new Thread(this::run, "plannerd-table-" + config.operator);
    thread.setDaemon(true);
  }

  /** Returns a follower that begins with the table in the file, if there is one, and follows. */
  public static Follower open(Config config) {
    Follower f = new Follower(config);
    f.recall();
    f.thread.start();
    return f;
  }

  /** Reads the table from the file. That it cannot be read is in the status: the server has the table, too. */
  private void recall() {
    if (file == null) {
      return;
    }
    try {
      List<TableFile.Kept> lines = file.read();
      for (TableFile.Kept k : lines) {
        take(k.table());
        etag = k.etag();
      }
      if (!lines.isEmpty()) {
        publish(state.view(true));
      }
    } catch (IOException | IllegalArgumentException e) {
      state = State.NONE;
      etag = null;
      status = new Status(0, null, e, false);
    }
  }

  /**
   * Returns where a key goes now, by the table as it was last heard of.
   *
   * @throws RouteException if no route is known, or there is no table yet
   */
  public Destination lookup(byte[] key) {
    Destination d = new Destination();
    lookup(key, d);
    return d;
  }

  /** Writes where a key goes now, without allocating; see {@link #lookup(byte[])}. */
  public void lookup(byte[] key, Destination into) {
    View v = view;
    if (v == null) {
      throw new RouteException("there is no routing table yet");
    }
    v.table().lookup(key, into);
  }

  /** Returns the name of an instance that lookups return; null: it has none, or there is no table yet. */
  public String name(int instance) {
    View v = view;
    return v == null ? null : v.names().get(instance);
  }

  /** Returns what is known now; null: nothing. */
  public View view() {
    return view;
  }

  public Status status() {
    return status;
  }

  /** Waits until there is a table, be it that of the file. */
  public View awaitTable(Duration atMost) throws InterruptedException, TimeoutException {
    View v = next(null, atMost);
    if (v == null) {
      throw new TimeoutException("there is no routing table yet: " + status);
    }
    return v;
  }

  /**
   * Waits for a view other than the given one, null included, and returns the newest; where there
   * is none in time, the given one. Views that came in between are passed over.
   */
  public synchronized View next(View after, Duration atMost) throws InterruptedException {
    long end = System.nanoTime() + atMost.toNanos();
    while (view == after && !status.stopped) {
      long left = (end - System.nanoTime()) / 1_000_000;
      if (left <= 0) {
        break;
      }
      wait(left);
    }
    return view;
  }

  private synchronized void publish(View v) {
    view = v;
    notifyAll();
  }

  /** Stops following. Lookups go on by the last table. */
  @Override
  public void close() {
    thread.interrupt();
  }

  private void run() {
    try {
      follow();
    } catch (InterruptedException e) {
      // The follower was closed.
    } finally {
      try {
        if (file != null) {
          file.close();
        }
      } catch (IOException e) {
        status = new Status(status.confirmed, status.failure, e, true);
      }
      synchronized (this) {
        status = new Status(status.confirmed, status.failure, status.fileFailure, true);
        notifyAll();
      }
    }
  }

  private void follow() throws InterruptedException {
    int failures = 0;
    Duration wait = Duration.ZERO;
    while (true) {
      long begin = System.nanoTime();
      Exception failure = null;
      Duration after = Duration.ZERO;
      boolean news = false;
      try {
        news = ask(wait);
      } catch (State.SchemeException e) {
        status = new Status(status.confirmed, e, status.fileFailure, false);
        return;
      } catch (ApiException e) {
        failure = e;
        after = e.retryAfter().compareTo(Duration.ofMinutes(1)) < 0 ? e.retryAfter() : Duration.ofMinutes(1);
        if (e.is(ApiException.TABLE_NOT_HELD)) {
          status = new Status(status.confirmed, e, status.fileFailure, false);
          return;
        }
      } catch (IOException | RuntimeException e) {
        failure = e;
      }
      long confirmed = failure == null ? System.nanoTime() : status.confirmed;
      status = new Status(confirmed, failure, status.fileFailure, false);
      // A server that shuts down answers before the time is up that there is nothing new.
      if (failure == null && (news || System.nanoTime() - begin >= wait.toNanos() / 2)) {
        if (news || !wait.isZero()) {
          failures = 0;
        }
        wait = config.patience;
        continue;
      }
      failures++;
      wait = Duration.ZERO; // so that it is soon known how things are
      Thread.sleep(config.retry.wait(failures).plus(after).toMillis());
    }
  }

  /** Asks for what is new, for which the server may wait, and reports whether anything was. */
  private boolean ask(Duration wait) throws IOException, InterruptedException {
    // The version alone does not tell what was pending.
    Long since = etag == null ? null : state.table().version();
    Duration atMost = etag == null ? Duration.ZERO : wait;
    Client.Answer<RoutingTable> answer = config.source.get(config.operator, since, atMost, etag);
    if (answer == null) {
      View v = view;
      if (v != null && v.kept()) {
        publish(state.view(false));
      }
      return false;
    }
    try {
      take(answer.body());
    } catch (RuntimeException e) {
      etag = null; // whatever it is, the whole table mends it
      throw e;
    }
    etag = answer.etag();
    keep(answer.body());
    publish(state.view(false));
    return true;
  }

  private void take(RoutingTable answer) {
    if (!config.operator.equals(answer.operator())) {
      String other = "the table is of operator " + answer.operator() + ", not of " + config.operator;
      throw new IllegalArgumentException(other);
    }
    state = state.apply(answer, config.router);
  }

  /**
   * Writes what is new to the file before it is gone by: a router that is restarted must not go by
   * an older table.
   */
  private void keep(RoutingTable answer) {
    if (file == null) {
      return;
    }
    Exception failure = null;
    try {
      file.add(etag, answer, () -> state.whole(config.operator));
    } catch (IOException e) {
      failure = e;
    }
    status = new Status(status.confirmed, status.failure, failure, false);
  }
}
