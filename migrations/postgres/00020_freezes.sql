-- +goose Up

-- What holds an operator, or all for the name '': no plan of it is made or started until then.
CREATE TABLE freezes (
    operator text COLLATE "C" NOT NULL PRIMARY KEY,
    until_at timestamptz NOT NULL,
    data     json NOT NULL
);

-- +goose Down

DROP TABLE freezes;
