-- Answers that retention deleted from the vault: the record of the request stays, and says when its answer went.
ALTER TABLE etl.fetch ADD COLUMN pruned_at TIMESTAMP WITH TIME ZONE;
COMMENT ON COLUMN etl.fetch.pruned_at IS 'when retention deleted the answer from the vault; null: it is there, or there never was one';
