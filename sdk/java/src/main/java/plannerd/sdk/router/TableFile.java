package plannerd.sdk.router;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Supplier;
import plannerd.sdk.client.Json;
import plannerd.sdk.client.RoutingTable;

/**
 * Keeps a table on disk. The file is written anew with the whole table, and then grows by changes,
 * a line each, until they are longer than the table.
 */
final class TableFile {
  private static final int FORMAT = 1;
  private static final int LEAST_LOG = 1 << 16;

  /**
   * A line of the file. The first has a whole table, the others the changes that came after it.
   *
   * @param etag that of the answer, so that the server answers at once when that is not so any more
   */
  record Kept(int format, String etag, RoutingTable table) {}

  private final Path path;
  private FileChannel log; // null: it has to be written anew
  private long whole;
  private long more;

  TableFile(Path path) {
    this.path = path;
  }

  /**
   * Returns the lines; none: there is no file. A last line that was not finished is left out: what
   * it says was never gone by.
   */
  List<Kept> read() throws IOException {
    if (!Files.exists(path)) {
      return List.of();
    }
    byte[] text = Files.readAllBytes(path);
    List<Kept> out = new ArrayList<>();
    int begin = 0;
    for (int i = 0; i < text.length; i++) {
      if (text[i] == '\n') {
        Kept k = Json.MAPPER.readValue(Arrays.copyOfRange(text, begin, i), Kept.class);
        if (k.format != FORMAT || k.table == null) {
          throw new IOException(path + " is no routing table of format " + FORMAT);
        }
        out.add(k);
        begin = i + 1;
      }
    }
    if (out.isEmpty()) {
      throw new IOException(path + " is no routing table");
    }
    return out;
  }

  /** Adds a change, after which the table is what all returns. It is on the disk then. */
  void add(String etag, RoutingTable change, Supplier<RoutingTable> all) throws IOException {
    byte[] line = line(etag, change);
    if (log == null || change.isWhole() || more + line.length > Math.max(whole, LEAST_LOG)) {
      replace(line(etag, all.get()));
      return;
    }
    try {
      write(log, line);
      more += line.length;
    } catch (IOException e) {
      close(); // there may be half a line
      throw e;
    }
  }

  private static byte[] line(String etag, RoutingTable table) throws IOException {
    byte[] text = Json.MAPPER.writeValueAsBytes(new Kept(FORMAT, etag, table));
    byte[] line = Arrays.copyOf(text, text.length + 1);
    line[text.length] = '\n';
    return line;
  }

  private static void write(FileChannel to, byte[] line) throws IOException {
    for (ByteBuffer b = ByteBuffer.wrap(line); b.hasRemaining(); ) {
      to.write(b);
    }
    to.force(true);
  }

  /** Writes the file anew: whenever the machine fails, there is the old one or the new one. */
  private void replace(byte[] line) throws IOException {
    close();
    Path folder = path.toAbsolutePath().getParent();
    Path next = Files.createTempFile(folder, path.getFileName() + ".", ".tmp");
    FileChannel channel = FileChannel.open(next, StandardOpenOption.WRITE);
    try {
      write(channel, line);
      Files.move(next, path, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    } catch (IOException e) {
      channel.close();
      Files.deleteIfExists(next);
      throw e;
    }
    log = channel;
    whole = line.length;
    more = 0;
    try (FileChannel f = FileChannel.open(folder, StandardOpenOption.READ)) {
      f.force(true); // the renaming lasts
    }
  }

  void close() throws IOException {
    if (log != null) {
      FileChannel old = log;
      log = null;
      old.close();
    }
  }
}
