package plannerd.kafka;

import java.time.Duration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import plannerd.sdk.client.ApiException;
import plannerd.sdk.router.Follower;
import plannerd.sdk.router.View;

/** Follows a table in the background. No method throws: what cannot be read is no table. */
final class Feed implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Feed.class);
  private static final Duration LOOK = Duration.ofMillis(20);

  private final Settings settings;
  private final Follower follower;
  private View seen;
  private Placement placement = Placement.NONE;

  Feed(Settings settings) {
    this.settings = settings;
    follower = settings.follow();
  }

  /** Returns the last table that is known. */
  synchronized Placement now() {
    View view = follower.view();
    if (view != seen) {
      seen = view;
      try {
        placement = Placement.of(view);
      } catch (RuntimeException e) {
        LOG.warn("the table of operator {} is left out of account: it cannot be understood", settings.operator(), e);
        placement = Placement.NONE;
      }
    }
    return placement;
  }

  /** Waits for the first table, unless it is known that there is none. */
  Placement await(Duration limit) {
    long end = System.nanoTime() + limit.toNanos();
    try {
      while (follower.view() == null && !refused() && System.nanoTime() < end) {
        follower.next(null, LOOK);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // whoever wants the thread back gets it soon
    }
    if (follower.view() == null) {
      LOG.warn("there is no table of operator {} at {}, so that partitions are assigned by number",
          settings.operator(), settings.url(), follower.status().failure());
    }
    return now();
  }

  /** Reports whether plannerd has answered, and waiting is in vain. */
  private boolean refused() {
    Follower.Status s = follower.status();
    return s.stopped() || s.failure() instanceof ApiException e && !e.isTemporary();
  }

  @Override
  public void close() {
    follower.close();
  }
}
