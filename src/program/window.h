/* window.h - window functions and the frames of windows, by number: what the logical plan (sql/plan/plan.h) and the
 * specification for execution (WindowSpec in query_plan.h) share.
 */
#ifndef STELE_PROGRAM_WINDOW_H
#define STELE_PROGRAM_WINDOW_H

#include "base/base.h"

typedef enum WinFunc {
    WF_ROW_NUMBER,
    WF_RANK,
    WF_DENSE_RANK,
    WF_PERCENT_RANK,
    WF_CUME_DIST,
    WF_NTILE, /* (number) */
    WF_LAG,   /* (value, offset, default) */
    WF_LEAD,
    WF_FIRST_VALUE, /* (value) */
    WF_LAST_VALUE,
    WF_NTH_VALUE, /* (value, number) */
    WF_AGG        /* an aggregate over the frame */
} WinFunc;

/* In the order of PostgreSQL's grammar and of sql/parse/ast.h. */
typedef enum WinMode { WM_RANGE, WM_ROWS, WM_GROUPS } WinMode;
typedef enum WinBound {
    WB_UNBOUNDED_PRECEDING,
    WB_PRECEDING, /* with an offset */
    WB_CURRENT_ROW,
    WB_FOLLOWING, /* with an offset */
    WB_UNBOUNDED_FOLLOWING
} WinBound;
typedef enum WinExclude { WX_NONE, WX_CURRENT_ROW, WX_GROUP, WX_TIES } WinExclude;

typedef struct WinFrame {
    uint8_t mode, start, end, exclude; /* WinMode, WinBound, WinBound, WinExclude */
} WinFrame;

#endif
