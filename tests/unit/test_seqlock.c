/* SPDX-License-Identifier: Apache-2.0 */
/* Sequence locks: consistent reads or none, also after a writer was killed. */
#include "unit.h"

#include "core/thread.h"

TEST(a_written_value_is_read)
{
    neo_seqlock lock = 0;
    int shared = 0, seen = -1;
    assert_true(neo_seqlock_read(&lock, &shared, &seen, sizeof seen));
    assert_int_equal(seen, 0);
    for (int i = 1; i < 5; i++) {
        neo_seqlock_write(&lock, &shared, &i, sizeof i);
        assert_true(neo_seqlock_read(&lock, &shared, &seen, sizeof seen));
        assert_int_equal(seen, i);
    }
}

TEST(a_killed_writer_does_not_block_the_next)
{
    neo_seqlock lock = 4;
    int shared = 7, seen = -1;
    lock |= 1; /* it has begun and not ended */
    assert_false(neo_seqlock_read(&lock, &shared, &seen, sizeof seen));
    for (int i = 1; i < 3; i++) {
        neo_seqlock_write(&lock, &shared, &i, sizeof i);
        assert_int_equal(lock % 2, 0);
        assert_true(neo_seqlock_read(&lock, &shared, &seen, sizeof seen));
        assert_int_equal(seen, i);
    }
}
