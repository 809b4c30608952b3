-- The secondary indexes of Postgres, each with who needs it and what making it takes in the first load of three years: 10 million items and 18
-- million rows of their history, 319 s with all. A night in which 10,000 items changed writes them, and as many rows of history, into all
-- their indexes in 0.6 s. Besides these a table has its key, and an index on its day (named after the table, `…_day`) unless one below
-- begins with that day and holds every row. An index that changes gets another name; one that is taken out of here is dropped.

-- mart.rate_change: what was sold of a product on a day. With the product first, rows of a day would lie all over the index: 270,000 rows
-- into 10 million then take 10 s of CPU instead of 4.
-- First load: 4.8 s.
CREATE INDEX IF NOT EXISTS fact_order_item_day_product ON warehouse.fact_order_item (order_date, product_id);

-- mart.ageing and mart.payment_forecast: neither rejected nor paid, some weeks of orders in years of them. Their conditions are these
-- words, or the index is not used.
-- First load: 1.5 s.
CREATE INDEX IF NOT EXISTS fact_order_item_unpaid ON warehouse.fact_order_item (order_date)
WHERE coalesce(status_group, 'unknown') <> 'rejected'
  AND (coalesce(status_group, 'unknown') <> 'approved' OR NOT coalesce(approved_for_payment, false));

-- etl.sub_id_seen, which warehouse.dim_sub_id reads, walks from each sub-ID to the next by these, three steps a sub-ID, instead of reading all facts.
-- First load: 1.2, 13.8 and 1.4 s. Sorting by an account that is always the same is slow; but behind the sub-ID it would lead one account
-- through the rows of all others.
CREATE INDEX IF NOT EXISTS fact_promotion_day_account_sub_id ON warehouse.fact_promotion_day (account, sub_id, promotion_date);
CREATE INDEX IF NOT EXISTS fact_order_item_account_sub_id ON warehouse.fact_order_item (account, sub_id, order_date);
CREATE INDEX IF NOT EXISTS fact_commission_day_account_sub_id ON warehouse.fact_commission_day (account, sub_id, order_date);

-- mart.order_change, order_life_cycle and restatement: what an item was, in order, by names sorted as bytes, as these marts ask for it: half
-- a million rows of a month need no sort, a third of the time of the last two. Of what items are, a month is sorted almost as fast as read so.
-- First load: 16 s.
CREATE INDEX IF NOT EXISTS fact_order_item_history_item_account ON warehouse.fact_order_item_history
  (order_date, order_id COLLATE "C", order_item_id COLLATE "C", account, valid_from);

-- mart.reconciliation: what a group was at an instant; a name and a sub-ID can be null.
-- First load: 5.3 and 10.8 s.
CREATE INDEX IF NOT EXISTS fact_order_item_group ON warehouse.fact_order_item (order_date, coalesce(sub_id, ''), coalesce(name, ''));
CREATE INDEX IF NOT EXISTS fact_order_item_history_group ON warehouse.fact_order_item_history
  (order_date, coalesce(sub_id, ''), coalesce(name, ''));

-- warehouse.product_ean: which EAN a product has is read from here alone, since the table is wide.
CREATE INDEX IF NOT EXISTS dim_product_account_named ON warehouse.dim_product (bol_product_id, account, valid_from, ean)
  WHERE outcome = 'found' AND bol_product_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS dim_product_history_account_named ON warehouse.dim_product_history (bol_product_id, account, valid_from, ean)
  WHERE outcome = 'found' AND bol_product_id IS NOT NULL;

-- mart.push_day: the message of a process that ended.
CREATE INDEX IF NOT EXISTS fact_push_message_resource ON warehouse.fact_push_message (resource_id);
