package plannerd.kafka;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.function.Supplier;
import plannerd.sdk.client.Client;
import plannerd.sdk.client.Retry;
import plannerd.sdk.router.Follower;

/**
 * Where a table is.
 *
 * @param url of plannerd
 * @param token gives the token of a request; null: there is none
 * @param timeout how long the first assignment waits for the table
 * @param file where the last table is kept; null: nowhere
 */
record Settings(String url, String operator, Supplier<String> token, Duration timeout, Path file) {
  /** The address of plannerd, such as {@code http://127.0.0.1:8080}. */
  static final String URL = "plannerd.url";
  /** The operator whose table is followed; the group's id where there is none. */
  static final String OPERATOR = "plannerd.operator";
  /** A file with the token, which is read again for each request. */
  static final String TOKEN_FILE = "plannerd.token.file";
  /** How long the first assignment waits for the table, in milliseconds. */
  static final String TIMEOUT = "plannerd.timeout.ms";
  /** Where the last table is kept over restarts. */
  static final String TABLE_FILE = "plannerd.table.file";

  private static final Retry RETRY =
      new Retry(1, Duration.ofMillis(100), Duration.ofSeconds(5), Duration.ZERO);

  /**
   * Reads the settings of an operator.
   *
   * @param self what tells the table's file from those of others that have the same settings
   * @return null where no plannerd is named
   */
  static Settings of(Map<?, ?> configs, String operator, String self) {
    String url = text(configs, URL);
    if (url == null) {
      return null;
    }
    String tokens = text(configs, TOKEN_FILE);
    String timeout = text(configs, TIMEOUT);
    String file = text(configs, TABLE_FILE);
    return new Settings(url, operator, tokens == null ? null : () -> read(Path.of(tokens)),
        Duration.ofMillis(timeout == null ? 2000 : Long.parseLong(timeout)),
        file == null ? null : Path.of(self == null ? file : file + "." + self));
  }

  /** Returns a setting; null where there is none. */
  static String text(Map<?, ?> configs, String name) {
    Object value = configs.get(name);
    return value == null || value.toString().isBlank() ? null : value.toString().strip();
  }

  private static String read(Path file) {
    try {
      return Files.readString(file).strip();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  Follower follow() {
    Client client = new Client(url, token, RETRY);
    return Follower.open(new Follower.Config(client::getRoutingTable, operator, "kafka", file,
        Duration.ofSeconds(30), RETRY));
  }
}
