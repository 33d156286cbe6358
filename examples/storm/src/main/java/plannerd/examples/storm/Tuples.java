package plannerd.examples.storm;

import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Values;

/** What tuples carry. */
final class Tuples {
  /** Messages and markers, from sources to instances. */
  static final Fields MESSAGE = new Fields("word", "number", "made", "sent", "epoch", "marker", "to");
  /** States of words, between instances. */
  static final Fields TRANSFER = new Fields("version", "end", "word", "state");

  /** Parts of counts, from instances to aggregators. */
  static final Fields PART = new Fields("word", "number", "made");

  /** From the clock. */
  static final Fields TIME = new Fields("now");

  static final String TRANSFERS = "transfers";
  static final String PARTS = "parts";
  /** The positions of fields in a message. */
  static final int WORD = 0;
  static final int MADE = 2;
  static final int SENT = 3;
  static final int MARKER = 5;
  static final int TO = 6;
  /** A message that names no instance, and one that is held. */
  static final int ANYWHERE = -1;
  static final int NOWHERE = -2;

  private Tuples() {}

  /** The n-th message of a word at a source. */
  static Values message(String word, long n, long made, long epoch) {
    return new Values(word, n, made, made, epoch, 0L, ANYWHERE);
  }

  static Values marker(long version, long epoch, int to) {
    long now = System.nanoTime();
    return new Values("", 0L, now, now, epoch, version, to);
  }
}
