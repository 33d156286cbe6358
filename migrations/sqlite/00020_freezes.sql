-- +goose Up

-- What holds an operator, or all for the name '': no plan of it is made or started until then.
CREATE TABLE freezes (
    operator TEXT NOT NULL PRIMARY KEY,
    until_at INTEGER NOT NULL,
    data     TEXT NOT NULL CHECK (json_valid(data))
) STRICT;

-- +goose Down

DROP TABLE freezes;
