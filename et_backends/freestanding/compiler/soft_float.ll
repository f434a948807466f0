; Made of soft_float.c by python -m dev.soft_float.

define internal i32 @__addsf3(i32 %0, i32 %1) {
  %3 = and i32 %0, 2147483647
  %4 = icmp samesign ult i32 %3, 2139095041
  br i1 %4, label %5, label %114

5:
  %6 = and i32 %1, 2147483647
  %7 = icmp samesign ult i32 %6, 2139095041
  br i1 %7, label %8, label %114

8:
  %9 = icmp samesign ult i32 %3, %6
  %10 = select i1 %9, i32 %0, i32 %1
  %11 = select i1 %9, i32 %1, i32 %0
  %12 = and i32 %11, -2147483648
  %13 = xor i32 %1, %0
  %14 = and i32 %13, -2147483648
  %15 = lshr i32 %11, 23
  %16 = and i32 %15, 255
  %17 = lshr i32 %10, 23
  %18 = and i32 %17, 255
  %19 = icmp eq i32 %16, 255
  br i1 %19, label %20, label %25

20:
  %21 = icmp ne i32 %14, 0
  %22 = icmp eq i32 %18, 255
  %23 = and i1 %21, %22
  %24 = select i1 %23, i32 2143289344, i32 %11
  br label %114

25:
  %26 = shl i32 %11, 7
  %27 = and i32 %26, 1073741696
  %28 = shl i32 %10, 7
  %29 = and i32 %28, 1073741696
  %30 = icmp eq i32 %16, 0
  %31 = or disjoint i32 %27, 1073741824
  %32 = tail call i32 @llvm.umax.i32(i32 %16, i32 1)
  %33 = select i1 %30, i32 %27, i32 %31
  %34 = icmp eq i32 %18, 0
  %35 = or disjoint i32 %29, 1073741824
  %36 = tail call i32 @llvm.umax.i32(i32 %18, i32 1)
  %37 = select i1 %34, i32 %29, i32 %35
  %38 = sub nsw i32 %32, %36
  %39 = icmp ugt i32 %38, 30
  br i1 %39, label %40, label %43

40:
  %41 = icmp ne i32 %37, 0
  %42 = zext i1 %41 to i32
  br label %51

43:
  %44 = lshr i32 %37, %38
  %45 = shl nsw i32 -1, %38
  %46 = xor i32 %45, -1
  %47 = and i32 %37, %46
  %48 = icmp ne i32 %47, 0
  %49 = zext i1 %48 to i32
  %50 = or i32 %44, %49
  br label %51

51:
  %52 = phi i32 [ %42, %40 ], [ %50, %43 ]
  %53 = icmp eq i32 %14, 0
  br i1 %53, label %54, label %76

54:
  %55 = add nuw i32 %52, %33
  %56 = lshr i32 %55, 31
  %57 = add nuw nsw i32 %56, %32
  %58 = icmp samesign ugt i32 %57, 254
  br i1 %58, label %59, label %61

59:
  %60 = or disjoint i32 %12, 2139095040
  br label %114

61:
  %62 = icmp slt i32 %55, 0
  %63 = lshr i32 %55, 1
  %64 = and i32 %52, 1
  %65 = or i32 %63, %64
  %66 = select i1 %62, i32 %65, i32 %55
  %67 = add i32 %66, 63
  %68 = lshr i32 %66, 7
  %69 = and i32 %68, 1
  %70 = add i32 %67, %69
  %71 = lshr i32 %70, 7
  %72 = shl nuw nsw i32 %57, 23
  %73 = add nsw i32 %72, -8388608
  %74 = add nuw i32 %73, %71
  %75 = or i32 %74, %12
  br label %114

76:
  %77 = sub nsw i32 %33, %52
  %78 = icmp eq i32 %77, 0
  br i1 %78, label %114, label %79

79:
  %80 = icmp ult i32 %77, 1073741824
  %81 = icmp samesign ugt i32 %16, 1
  %82 = select i1 %80, i1 %81, i1 false
  br i1 %82, label %83, label %95

83:
  %84 = phi i32 [ %86, %83 ], [ %77, %79 ]
  %85 = phi i32 [ %87, %83 ], [ %32, %79 ]
  %86 = shl nuw nsw i32 %84, 1
  %87 = add nsw i32 %85, -1
  %88 = icmp ult i32 %84, 536870912
  %89 = icmp samesign ugt i32 %85, 2
  %90 = select i1 %88, i1 %89, i1 false
  br i1 %90, label %83, label %91

91:
  %92 = icmp sgt i32 %85, 255
  br i1 %92, label %93, label %95

93:
  %94 = or disjoint i32 %12, 2139095040
  br label %114

95:
  %96 = phi i32 [ %86, %91 ], [ %77, %79 ]
  %97 = phi i32 [ %87, %91 ], [ %32, %79 ]
  %98 = icmp eq i32 %97, 0
  %99 = sub nuw nsw i32 1, %97
  %100 = lshr i32 %96, %99
  %101 = and i32 %96, 1
  %102 = or i32 %100, %101
  %103 = tail call i32 @llvm.umax.i32(i32 %97, i32 1)
  %104 = select i1 %98, i32 %102, i32 %96
  %105 = add i32 %104, 63
  %106 = lshr i32 %104, 7
  %107 = and i32 %106, 1
  %108 = add i32 %105, %107
  %109 = lshr i32 %108, 7
  %110 = shl nuw nsw i32 %103, 23
  %111 = add nsw i32 %110, -8388608
  %112 = add nuw i32 %111, %109
  %113 = or i32 %112, %12
  br label %114

114:
  %115 = phi i32 [ 2143289344, %2 ], [ 2143289344, %5 ], [ %24, %20 ], [ %75, %61 ], [ 0, %76 ], [ %60, %59 ], [ %94, %93 ], [ %113, %95 ]
  ret i32 %115
}

define internal i32 @__subsf3(i32 %0, i32 %1) {
  %3 = and i32 %1, 2147483647
  %4 = icmp samesign ult i32 %3, 2139095041
  %5 = xor i32 %1, -2147483648
  %6 = select i1 %4, i32 %5, i32 %1
  %7 = tail call i32 @__addsf3(i32 %0, i32 %6)
  ret i32 %7
}

define internal i32 @__mulsf3(i32 %0, i32 %1) {
  %3 = xor i32 %1, %0
  %4 = and i32 %3, -2147483648
  %5 = and i32 %0, 2147483647
  %6 = icmp samesign ult i32 %5, 2139095041
  br i1 %6, label %7, label %114

7:
  %8 = and i32 %1, 2147483647
  %9 = icmp samesign ult i32 %8, 2139095041
  br i1 %9, label %10, label %114

10:
  %11 = icmp eq i32 %5, 2139095040
  %12 = icmp eq i32 %8, 2139095040
  %13 = or i1 %11, %12
  %14 = icmp eq i32 %5, 0
  %15 = icmp eq i32 %8, 0
  %16 = or i1 %14, %15
  br i1 %13, label %17, label %20

17:
  %18 = or disjoint i32 %4, 2139095040
  %19 = select i1 %16, i32 2143289344, i32 %18
  br label %114

20:
  br i1 %16, label %114, label %21

21:
  %22 = and i32 %0, 8388607
  %23 = lshr i32 %0, 23
  %24 = and i32 %23, 255
  %25 = icmp eq i32 %24, 0
  br i1 %25, label %28, label %26

26:
  %27 = or disjoint i32 %22, 8388608
  br label %35

28:
  %29 = phi i32 [ %31, %28 ], [ %22, %21 ]
  %30 = phi i32 [ %32, %28 ], [ 1, %21 ]
  %31 = shl i32 %29, 1
  %32 = add nsw i32 %30, -1
  %33 = and i32 %29, 4194304
  %34 = icmp eq i32 %33, 0
  br i1 %34, label %28, label %35

35:
  %36 = phi i32 [ %24, %26 ], [ %32, %28 ]
  %37 = phi i32 [ %27, %26 ], [ %31, %28 ]
  %38 = and i32 %1, 8388607
  %39 = lshr i32 %1, 23
  %40 = and i32 %39, 255
  %41 = icmp eq i32 %40, 0
  br i1 %41, label %44, label %42

42:
  %43 = or disjoint i32 %38, 8388608
  br label %51

44:
  %45 = phi i32 [ %47, %44 ], [ %38, %35 ]
  %46 = phi i32 [ %48, %44 ], [ 1, %35 ]
  %47 = shl i32 %45, 1
  %48 = add nsw i32 %46, -1
  %49 = and i32 %45, 4194304
  %50 = icmp eq i32 %49, 0
  br i1 %50, label %44, label %51

51:
  %52 = phi i32 [ %40, %42 ], [ %48, %44 ]
  %53 = phi i32 [ %43, %42 ], [ %47, %44 ]
  %54 = lshr i32 %37, 12
  %55 = lshr i32 %53, 12
  %56 = and i32 %37, 4095
  %57 = and i32 %53, 4095
  %58 = mul nuw nsw i32 %57, %56
  %59 = mul nuw i32 %57, %54
  %60 = mul nuw i32 %55, %56
  %61 = add i32 %59, %60
  %62 = lshr i32 %58, 12
  %63 = add i32 %61, %62
  %64 = shl nuw nsw i32 %54, 8
  %65 = mul i32 %64, %55
  %66 = lshr i32 %63, 4
  %67 = add i32 %66, %65
  %68 = and i32 %63, 15
  %69 = and i32 %58, 4095
  %70 = or i32 %68, %69
  %71 = icmp ne i32 %70, 0
  %72 = zext i1 %71 to i32
  %73 = or i32 %67, %72
  %74 = icmp slt i32 %67, 0
  %75 = lshr i32 %67, 1
  %76 = and i32 %73, 1
  %77 = or i32 %76, %75
  %78 = lshr i32 %67, 31
  %79 = add i32 %36, -127
  %80 = add i32 %79, %52
  %81 = add nsw i32 %80, %78
  %82 = select i1 %74, i32 %77, i32 %73
  %83 = icmp sgt i32 %81, 254
  br i1 %83, label %84, label %86

84:
  %85 = or disjoint i32 %4, 2139095040
  br label %114

86:
  %87 = icmp slt i32 %81, 1
  br i1 %87, label %88, label %102

88:
  %89 = sub nsw i32 1, %81
  %90 = icmp samesign ugt i32 %89, 30
  br i1 %90, label %91, label %94

91:
  %92 = icmp ne i32 %82, 0
  %93 = zext i1 %92 to i32
  br label %102

94:
  %95 = lshr i32 %82, %89
  %96 = shl nsw i32 -1, %89
  %97 = xor i32 %96, -1
  %98 = and i32 %82, %97
  %99 = icmp ne i32 %98, 0
  %100 = zext i1 %99 to i32
  %101 = or i32 %95, %100
  br label %102

102:
  %103 = phi i32 [ %81, %86 ], [ 1, %94 ], [ 1, %91 ]
  %104 = phi i32 [ %82, %86 ], [ %101, %94 ], [ %93, %91 ]
  %105 = add i32 %104, 63
  %106 = lshr i32 %104, 7
  %107 = and i32 %106, 1
  %108 = add i32 %105, %107
  %109 = lshr i32 %108, 7
  %110 = shl nuw nsw i32 %103, 23
  %111 = add nsw i32 %110, -8388608
  %112 = add nuw i32 %111, %109
  %113 = or i32 %112, %4
  br label %114

114:
  %115 = phi i32 [ 2143289344, %2 ], [ 2143289344, %7 ], [ %19, %17 ], [ %4, %20 ], [ %85, %84 ], [ %113, %102 ]
  ret i32 %115
}

define internal i32 @__divsf3(i32 %0, i32 %1) {
  %3 = xor i32 %1, %0
  %4 = and i32 %3, -2147483648
  %5 = and i32 %0, 2147483647
  %6 = icmp samesign ult i32 %5, 2139095041
  br i1 %6, label %7, label %111

7:
  %8 = and i32 %1, 2147483647
  %9 = icmp samesign ult i32 %8, 2139095041
  br i1 %9, label %10, label %111

10:
  %11 = icmp eq i32 %5, 2139095040
  br i1 %11, label %12, label %16

12:
  %13 = icmp eq i32 %8, 2139095040
  %14 = or disjoint i32 %4, 2139095040
  %15 = select i1 %13, i32 2143289344, i32 %14
  br label %111

16:
  %17 = icmp eq i32 %8, 0
  %18 = icmp eq i32 %5, 0
  br i1 %17, label %19, label %22

19:
  %20 = or disjoint i32 %4, 2139095040
  %21 = select i1 %18, i32 2143289344, i32 %20
  br label %111

22:
  %23 = icmp eq i32 %8, 2139095040
  %24 = or i1 %18, %23
  br i1 %24, label %111, label %25

25:
  %26 = and i32 %0, 8388607
  %27 = lshr i32 %5, 23
  %28 = icmp eq i32 %27, 0
  br i1 %28, label %31, label %29

29:
  %30 = or disjoint i32 %26, 8388608
  br label %38

31:
  %32 = phi i32 [ %34, %31 ], [ %26, %25 ]
  %33 = phi i32 [ %35, %31 ], [ 1, %25 ]
  %34 = shl i32 %32, 1
  %35 = add nsw i32 %33, -1
  %36 = and i32 %32, 4194304
  %37 = icmp eq i32 %36, 0
  br i1 %37, label %31, label %38

38:
  %39 = phi i32 [ %27, %29 ], [ %35, %31 ]
  %40 = phi i32 [ %30, %29 ], [ %34, %31 ]
  %41 = and i32 %1, 8388607
  %42 = lshr i32 %1, 23
  %43 = and i32 %42, 255
  %44 = icmp eq i32 %43, 0
  br i1 %44, label %47, label %45

45:
  %46 = or disjoint i32 %41, 8388608
  br label %54

47:
  %48 = phi i32 [ %50, %47 ], [ %41, %38 ]
  %49 = phi i32 [ %51, %47 ], [ 1, %38 ]
  %50 = shl i32 %48, 1
  %51 = add nsw i32 %49, -1
  %52 = and i32 %48, 4194304
  %53 = icmp eq i32 %52, 0
  br i1 %53, label %47, label %54

54:
  %55 = phi i32 [ %43, %45 ], [ %51, %47 ]
  %56 = phi i32 [ %46, %45 ], [ %50, %47 ]
  %57 = icmp ult i32 %40, %56
  %58 = zext i1 %57 to i32
  %59 = shl i32 %40, %58
  br label %98

60:
  %61 = sub i32 %39, %55
  %62 = select i1 %57, i32 126, i32 127
  %63 = add i32 %62, %61
  %64 = icmp ne i32 %108, 0
  %65 = zext i1 %64 to i32
  %66 = or i32 %107, %65
  %67 = icmp sgt i32 %63, 254
  br i1 %67, label %68, label %70

68:
  %69 = or disjoint i32 %4, 2139095040
  br label %111

70:
  %71 = icmp slt i32 %63, 1
  br i1 %71, label %72, label %86

72:
  %73 = sub nsw i32 1, %63
  %74 = icmp samesign ugt i32 %73, 30
  br i1 %74, label %75, label %78

75:
  %76 = icmp ne i32 %66, 0
  %77 = zext i1 %76 to i32
  br label %86

78:
  %79 = lshr i32 %66, %73
  %80 = shl nsw i32 -1, %73
  %81 = xor i32 %80, -1
  %82 = and i32 %66, %81
  %83 = icmp ne i32 %82, 0
  %84 = zext i1 %83 to i32
  %85 = or i32 %79, %84
  br label %86

86:
  %87 = phi i32 [ %63, %70 ], [ 1, %78 ], [ 1, %75 ]
  %88 = phi i32 [ %66, %70 ], [ %85, %78 ], [ %77, %75 ]
  %89 = add i32 %88, 63
  %90 = lshr i32 %88, 7
  %91 = and i32 %90, 1
  %92 = add i32 %89, %91
  %93 = lshr i32 %92, 7
  %94 = shl nuw nsw i32 %87, 23
  %95 = add nsw i32 %94, -8388608
  %96 = add nuw i32 %95, %93
  %97 = or i32 %96, %4
  br label %111

98:
  %99 = phi i32 [ 0, %54 ], [ %109, %98 ]
  %100 = phi i32 [ 0, %54 ], [ %107, %98 ]
  %101 = phi i32 [ %59, %54 ], [ %108, %98 ]
  %102 = shl i32 %100, 1
  %103 = icmp uge i32 %101, %56
  %104 = select i1 %103, i32 %56, i32 0
  %105 = sub nuw i32 %101, %104
  %106 = zext i1 %103 to i32
  %107 = or disjoint i32 %102, %106
  %108 = shl i32 %105, 1
  %109 = add nuw nsw i32 %99, 1
  %110 = icmp eq i32 %109, 31
  br i1 %110, label %60, label %98

111:
  %112 = phi i32 [ %21, %19 ], [ %15, %12 ], [ 2143289344, %2 ], [ %4, %22 ], [ 2143289344, %7 ], [ %69, %68 ], [ %97, %86 ]
  ret i32 %112
}

define internal i32 @sqrtf(i32 %0) {
  switch i32 %0, label %2 [
    i32 -2147483648, label %82
    i32 2139095040, label %82
    i32 0, label %82
  ]

2:
  %3 = and i32 %0, 2147483647
  %4 = icmp samesign ugt i32 %3, 2139095040
  %5 = icmp slt i32 %0, 0
  %6 = or i1 %5, %4
  br i1 %6, label %82, label %7

7:
  %8 = and i32 %0, 8388607
  %9 = lshr i32 %0, 23
  %10 = icmp eq i32 %9, 0
  br i1 %10, label %13, label %11

11:
  %12 = or disjoint i32 %8, 8388608
  br label %20

13:
  %14 = phi i32 [ %16, %13 ], [ %8, %7 ]
  %15 = phi i32 [ %17, %13 ], [ 1, %7 ]
  %16 = shl i32 %14, 1
  %17 = add nsw i32 %15, -1
  %18 = and i32 %14, 4194304
  %19 = icmp eq i32 %18, 0
  br i1 %19, label %13, label %20

20:
  %21 = phi i32 [ %9, %11 ], [ %17, %13 ]
  %22 = phi i32 [ %12, %11 ], [ %16, %13 ]
  %23 = add nsw i32 %21, -127
  %24 = and i32 %23, 1
  %25 = shl i32 %22, %24
  %26 = shl i32 %25, 1
  br label %65

27:
  %28 = icmp eq i32 %24, 0
  %29 = add nsw i32 %21, -128
  %30 = select i1 %28, i32 %23, i32 %29
  %31 = sdiv i32 %30, 2
  %32 = shl i32 %74, 6
  %33 = icmp ne i32 %80, 0
  %34 = zext i1 %33 to i32
  %35 = or disjoint i32 %32, %34
  %36 = icmp sgt i32 %30, 255
  br i1 %36, label %82, label %37

37:
  %38 = add nsw i32 %31, 127
  %39 = icmp slt i32 %30, -253
  br i1 %39, label %40, label %54

40:
  %41 = sub nsw i32 -126, %31
  %42 = icmp samesign ugt i32 %41, 30
  br i1 %42, label %43, label %46

43:
  %44 = icmp ne i32 %35, 0
  %45 = zext i1 %44 to i32
  br label %54

46:
  %47 = lshr i32 %35, %41
  %48 = shl nsw i32 -1, %41
  %49 = xor i32 %48, -1
  %50 = and i32 %35, %49
  %51 = icmp ne i32 %50, 0
  %52 = zext i1 %51 to i32
  %53 = or i32 %47, %52
  br label %54

54:
  %55 = phi i32 [ %38, %37 ], [ 1, %46 ], [ 1, %43 ]
  %56 = phi i32 [ %35, %37 ], [ %53, %46 ], [ %45, %43 ]
  %57 = add i32 %56, 63
  %58 = lshr i32 %56, 7
  %59 = and i32 %58, 1
  %60 = add i32 %57, %59
  %61 = lshr i32 %60, 7
  %62 = shl nuw nsw i32 %55, 23
  %63 = add nsw i32 %62, -8388608
  %64 = add nuw i32 %63, %61
  br label %82

65:
  %66 = phi i32 [ %26, %20 ], [ %80, %65 ]
  %67 = phi i32 [ 16777216, %20 ], [ %79, %65 ]
  %68 = phi i32 [ 0, %20 ], [ %76, %65 ]
  %69 = phi i32 [ 0, %20 ], [ %74, %65 ]
  %70 = add i32 %67, %68
  %71 = icmp ugt i32 %70, %66
  %72 = shl nuw nsw i32 %67, 1
  %73 = select i1 %71, i32 0, i32 %67
  %74 = or i32 %73, %69
  %75 = select i1 %71, i32 0, i32 %72
  %76 = add i32 %75, %68
  %77 = select i1 %71, i32 0, i32 %70
  %78 = sub nuw i32 %66, %77
  %79 = lshr i32 %67, 1
  %80 = shl i32 %78, 1
  %81 = icmp eq i32 %79, 0
  br i1 %81, label %27, label %65

82:
  %83 = phi i32 [ 2143289344, %2 ], [ %0, %1 ], [ %0, %1 ], [ %0, %1 ], [ %64, %54 ], [ 2139095040, %27 ]
  ret i32 %83
}

define internal i32 @__ltsf2(i32 %0, i32 %1) {
  %3 = and i32 %0, 2147483647
  %4 = icmp samesign ult i32 %3, 2139095041
  br i1 %4, label %5, label %16

5:
  %6 = and i32 %1, 2147483647
  %7 = icmp samesign ult i32 %6, 2139095041
  br i1 %7, label %8, label %16

8:
  %9 = sub nsw i32 0, %3
  %10 = icmp slt i32 %0, 0
  %11 = select i1 %10, i32 %9, i32 %0
  %12 = sub nsw i32 0, %6
  %13 = icmp slt i32 %1, 0
  %14 = select i1 %13, i32 %12, i32 %1
  %15 = tail call i32 @llvm.scmp.i32.i32(i32 %11, i32 %14)
  br label %16

16:
  %17 = phi i32 [ %15, %8 ], [ 1, %5 ], [ 1, %2 ]
  ret i32 %17
}

define internal i32 @__gtsf2(i32 %0, i32 %1) {
  %3 = and i32 %0, 2147483647
  %4 = icmp samesign ult i32 %3, 2139095041
  br i1 %4, label %5, label %16

5:
  %6 = and i32 %1, 2147483647
  %7 = icmp samesign ult i32 %6, 2139095041
  br i1 %7, label %8, label %16

8:
  %9 = sub nsw i32 0, %3
  %10 = icmp slt i32 %0, 0
  %11 = select i1 %10, i32 %9, i32 %0
  %12 = sub nsw i32 0, %6
  %13 = icmp slt i32 %1, 0
  %14 = select i1 %13, i32 %12, i32 %1
  %15 = tail call i32 @llvm.scmp.i32.i32(i32 %11, i32 %14)
  br label %16

16:
  %17 = phi i32 [ %15, %8 ], [ -1, %5 ], [ -1, %2 ]
  ret i32 %17
}

define internal i32 @__unordsf2(i32 %0, i32 %1) {
  %3 = and i32 %0, 2147483647
  %4 = icmp samesign ugt i32 %3, 2139095040
  %5 = and i32 %1, 2147483647
  %6 = icmp samesign ugt i32 %5, 2139095040
  %7 = select i1 %4, i1 true, i1 %6
  %8 = zext i1 %7 to i32
  ret i32 %8
}

define internal i32 @__aeabi_fcmpeq(i32 %0, i32 %1) {
  %3 = and i32 %0, 2147483647
  %4 = icmp samesign ult i32 %3, 2139095041
  br i1 %4, label %5, label %17

5:
  %6 = and i32 %1, 2147483647
  %7 = icmp samesign ult i32 %6, 2139095041
  br i1 %7, label %8, label %17

8:
  %9 = sub nsw i32 0, %3
  %10 = icmp slt i32 %0, 0
  %11 = select i1 %10, i32 %9, i32 %0
  %12 = sub nsw i32 0, %6
  %13 = icmp slt i32 %1, 0
  %14 = select i1 %13, i32 %12, i32 %1
  %15 = icmp eq i32 %11, %14
  %16 = zext i1 %15 to i32
  br label %17

17:
  %18 = phi i32 [ %16, %8 ], [ 0, %5 ], [ 0, %2 ]
  ret i32 %18
}

define internal i32 @__aeabi_fcmplt(i32 %0, i32 %1) {
  %3 = and i32 %0, 2147483647
  %4 = icmp samesign ult i32 %3, 2139095041
  br i1 %4, label %5, label %17

5:
  %6 = and i32 %1, 2147483647
  %7 = icmp samesign ult i32 %6, 2139095041
  br i1 %7, label %8, label %17

8:
  %9 = sub nsw i32 0, %3
  %10 = icmp slt i32 %0, 0
  %11 = select i1 %10, i32 %9, i32 %0
  %12 = sub nsw i32 0, %6
  %13 = icmp slt i32 %1, 0
  %14 = select i1 %13, i32 %12, i32 %1
  %15 = icmp slt i32 %11, %14
  %16 = zext i1 %15 to i32
  br label %17

17:
  %18 = phi i32 [ %16, %8 ], [ 0, %5 ], [ 0, %2 ]
  ret i32 %18
}

define internal i32 @__aeabi_fcmple(i32 %0, i32 %1) {
  %3 = and i32 %0, 2147483647
  %4 = icmp samesign ult i32 %3, 2139095041
  br i1 %4, label %5, label %17

5:
  %6 = and i32 %1, 2147483647
  %7 = icmp samesign ult i32 %6, 2139095041
  br i1 %7, label %8, label %17

8:
  %9 = sub nsw i32 0, %3
  %10 = icmp slt i32 %0, 0
  %11 = select i1 %10, i32 %9, i32 %0
  %12 = sub nsw i32 0, %6
  %13 = icmp slt i32 %1, 0
  %14 = select i1 %13, i32 %12, i32 %1
  %15 = icmp sle i32 %11, %14
  %16 = zext i1 %15 to i32
  br label %17

17:
  %18 = phi i32 [ %16, %8 ], [ 0, %5 ], [ 0, %2 ]
  ret i32 %18
}

define internal i32 @__aeabi_fcmpgt(i32 %0, i32 %1) {
  %3 = and i32 %0, 2147483647
  %4 = icmp samesign ult i32 %3, 2139095041
  br i1 %4, label %5, label %17

5:
  %6 = and i32 %1, 2147483647
  %7 = icmp samesign ult i32 %6, 2139095041
  br i1 %7, label %8, label %17

8:
  %9 = sub nsw i32 0, %3
  %10 = icmp slt i32 %0, 0
  %11 = select i1 %10, i32 %9, i32 %0
  %12 = sub nsw i32 0, %6
  %13 = icmp slt i32 %1, 0
  %14 = select i1 %13, i32 %12, i32 %1
  %15 = icmp sgt i32 %11, %14
  %16 = zext i1 %15 to i32
  br label %17

17:
  %18 = phi i32 [ %16, %8 ], [ 0, %5 ], [ 0, %2 ]
  ret i32 %18
}

define internal i32 @__aeabi_fcmpge(i32 %0, i32 %1) {
  %3 = and i32 %0, 2147483647
  %4 = icmp samesign ult i32 %3, 2139095041
  br i1 %4, label %5, label %17

5:
  %6 = and i32 %1, 2147483647
  %7 = icmp samesign ult i32 %6, 2139095041
  br i1 %7, label %8, label %17

8:
  %9 = sub nsw i32 0, %3
  %10 = icmp slt i32 %0, 0
  %11 = select i1 %10, i32 %9, i32 %0
  %12 = sub nsw i32 0, %6
  %13 = icmp slt i32 %1, 0
  %14 = select i1 %13, i32 %12, i32 %1
  %15 = icmp sge i32 %11, %14
  %16 = zext i1 %15 to i32
  br label %17

17:
  %18 = phi i32 [ %16, %8 ], [ 0, %5 ], [ 0, %2 ]
  ret i32 %18
}

define internal i32 @fmaxf(i32 %0, i32 %1) {
  %3 = and i32 %0, 2147483647
  %4 = icmp samesign ult i32 %3, 2139095041
  br i1 %4, label %5, label %17

5:
  %6 = and i32 %1, 2147483647
  %7 = icmp samesign ult i32 %6, 2139095041
  br i1 %7, label %8, label %17

8:
  %9 = sub nsw i32 0, %3
  %10 = icmp slt i32 %0, 0
  %11 = select i1 %10, i32 %9, i32 %0
  %12 = sub nsw i32 0, %6
  %13 = icmp slt i32 %1, 0
  %14 = select i1 %13, i32 %12, i32 %1
  %15 = icmp slt i32 %11, %14
  %16 = select i1 %15, i32 %1, i32 %0
  br label %17

17:
  %18 = phi i32 [ %0, %5 ], [ %1, %2 ], [ %16, %8 ]
  ret i32 %18
}

define internal i32 @fminf(i32 %0, i32 %1) {
  %3 = and i32 %0, 2147483647
  %4 = icmp samesign ult i32 %3, 2139095041
  br i1 %4, label %5, label %17

5:
  %6 = and i32 %1, 2147483647
  %7 = icmp samesign ult i32 %6, 2139095041
  br i1 %7, label %8, label %17

8:
  %9 = sub nsw i32 0, %3
  %10 = icmp slt i32 %0, 0
  %11 = select i1 %10, i32 %9, i32 %0
  %12 = sub nsw i32 0, %6
  %13 = icmp slt i32 %1, 0
  %14 = select i1 %13, i32 %12, i32 %1
  %15 = icmp sgt i32 %11, %14
  %16 = select i1 %15, i32 %1, i32 %0
  br label %17

17:
  %18 = phi i32 [ %0, %5 ], [ %1, %2 ], [ %16, %8 ]
  ret i32 %18
}

define internal i32 @fmaximumf(i32 %0, i32 %1) {
  %3 = and i32 %0, 2147483647
  %4 = icmp samesign ult i32 %3, 2139095041
  br i1 %4, label %5, label %21

5:
  %6 = and i32 %1, 2147483647
  %7 = icmp samesign ult i32 %6, 2139095041
  br i1 %7, label %8, label %21

8:
  %9 = sub nsw i32 0, %3
  %10 = icmp slt i32 %0, 0
  %11 = select i1 %10, i32 %9, i32 %0
  %12 = sub nsw i32 0, %6
  %13 = icmp slt i32 %1, 0
  %14 = select i1 %13, i32 %12, i32 %1
  %15 = icmp eq i32 %11, %14
  br i1 %15, label %16, label %18

16:
  %17 = and i32 %1, %0
  br label %21

18:
  %19 = icmp sgt i32 %11, %14
  %20 = select i1 %19, i32 %0, i32 %1
  br label %21

21:
  %22 = phi i32 [ 2143289344, %2 ], [ 2143289344, %5 ], [ %17, %16 ], [ %20, %18 ]
  ret i32 %22
}

define internal i32 @fminimumf(i32 %0, i32 %1) {
  %3 = and i32 %0, 2147483647
  %4 = icmp samesign ult i32 %3, 2139095041
  br i1 %4, label %5, label %21

5:
  %6 = and i32 %1, 2147483647
  %7 = icmp samesign ult i32 %6, 2139095041
  br i1 %7, label %8, label %21

8:
  %9 = sub nsw i32 0, %3
  %10 = icmp slt i32 %0, 0
  %11 = select i1 %10, i32 %9, i32 %0
  %12 = sub nsw i32 0, %6
  %13 = icmp slt i32 %1, 0
  %14 = select i1 %13, i32 %12, i32 %1
  %15 = icmp eq i32 %11, %14
  br i1 %15, label %16, label %18

16:
  %17 = or i32 %1, %0
  br label %21

18:
  %19 = icmp slt i32 %11, %14
  %20 = select i1 %19, i32 %0, i32 %1
  br label %21

21:
  %22 = phi i32 [ 2143289344, %2 ], [ 2143289344, %5 ], [ %17, %16 ], [ %20, %18 ]
  ret i32 %22
}

define internal i32 @__floatunsisf(i32 %0) {
  %2 = icmp eq i32 %0, 0
  br i1 %2, label %43, label %3

3:
  %4 = icmp sgt i32 %0, -1
  %5 = lshr i32 %0, 1
  %6 = and i32 %0, 1
  %7 = or i32 %5, %6
  %8 = select i1 %4, i32 %0, i32 %7
  %9 = select i1 %4, i32 157, i32 158
  %10 = icmp samesign ult i32 %8, 1073741824
  br i1 %10, label %11, label %32

11:
  %12 = phi i32 [ %15, %11 ], [ %9, %3 ]
  %13 = phi i32 [ %14, %11 ], [ %8, %3 ]
  %14 = shl nuw nsw i32 %13, 1
  %15 = add nsw i32 %12, -1
  %16 = icmp samesign ult i32 %13, 536870912
  br i1 %16, label %11, label %17

17:
  %18 = icmp sgt i32 %12, 255
  br i1 %18, label %43, label %19

19:
  %20 = icmp slt i32 %12, 2
  br i1 %20, label %21, label %32

21:
  %22 = sub nsw i32 2, %12
  %23 = icmp samesign ugt i32 %22, 30
  br i1 %23, label %32, label %24

24:
  %25 = lshr i32 %14, %22
  %26 = shl nsw i32 -1, %22
  %27 = xor i32 %26, -1
  %28 = and i32 %14, %27
  %29 = icmp ne i32 %28, 0
  %30 = zext i1 %29 to i32
  %31 = or i32 %25, %30
  br label %32

32:
  %33 = phi i32 [ %15, %19 ], [ 1, %21 ], [ 1, %24 ], [ %9, %3 ]
  %34 = phi i32 [ %14, %19 ], [ 1, %21 ], [ %31, %24 ], [ %8, %3 ]
  %35 = add nuw i32 %34, 63
  %36 = lshr i32 %34, 7
  %37 = and i32 %36, 1
  %38 = add nuw i32 %35, %37
  %39 = lshr i32 %38, 7
  %40 = shl nuw nsw i32 %33, 23
  %41 = add nsw i32 %40, -8388608
  %42 = add nuw nsw i32 %41, %39
  br label %43

43:
  %44 = phi i32 [ 0, %1 ], [ %42, %32 ], [ 2139095040, %17 ]
  ret i32 %44
}

define internal i32 @__floatsisf(i32 %0) {
  %2 = icmp sgt i32 %0, -1
  br i1 %2, label %7, label %3

3:
  %4 = sub i32 0, %0
  %5 = tail call i32 @__floatunsisf(i32 %4)
  %6 = or disjoint i32 %5, -2147483648
  br label %9

7:
  %8 = tail call i32 @__floatunsisf(i32 %0)
  br label %9

9:
  %10 = phi i32 [ %6, %3 ], [ %8, %7 ]
  ret i32 %10
}

define internal i32 @__floatundisf(i64 %0) {
  %2 = icmp ult i64 %0, 2147483648
  br i1 %2, label %11, label %3

3:
  %4 = phi i32 [ %9, %3 ], [ 157, %1 ]
  %5 = phi i64 [ %8, %3 ], [ %0, %1 ]
  %6 = lshr i64 %5, 1
  %7 = and i64 %5, 1
  %8 = or i64 %6, %7
  %9 = add nuw nsw i32 %4, 1
  %10 = icmp ult i64 %5, 4294967296
  br i1 %10, label %11, label %3

11:
  %12 = phi i64 [ %0, %1 ], [ %8, %3 ]
  %13 = phi i32 [ 157, %1 ], [ %9, %3 ]
  %14 = icmp eq i64 %12, 0
  br i1 %14, label %52, label %15

15:
  %16 = trunc nuw nsw i64 %12 to i32
  %17 = icmp samesign ult i32 %16, 1073741824
  br i1 %17, label %18, label %24

18:
  %19 = phi i32 [ %21, %18 ], [ %16, %15 ]
  %20 = phi i32 [ %22, %18 ], [ %13, %15 ]
  %21 = shl nuw nsw i32 %19, 1
  %22 = add nsw i32 %20, -1
  %23 = icmp samesign ult i32 %19, 536870912
  br i1 %23, label %18, label %24

24:
  %25 = phi i32 [ %13, %15 ], [ %22, %18 ]
  %26 = phi i32 [ %16, %15 ], [ %21, %18 ]
  %27 = icmp sgt i32 %25, 254
  br i1 %27, label %52, label %28

28:
  %29 = icmp slt i32 %25, 1
  br i1 %29, label %30, label %41

30:
  %31 = sub nsw i32 1, %25
  %32 = icmp samesign ugt i32 %31, 30
  br i1 %32, label %41, label %33

33:
  %34 = lshr i32 %26, %31
  %35 = shl nsw i32 -1, %31
  %36 = xor i32 %35, -1
  %37 = and i32 %26, %36
  %38 = icmp ne i32 %37, 0
  %39 = zext i1 %38 to i32
  %40 = or i32 %34, %39
  br label %41

41:
  %42 = phi i32 [ %25, %28 ], [ 1, %30 ], [ 1, %33 ]
  %43 = phi i32 [ %26, %28 ], [ 1, %30 ], [ %40, %33 ]
  %44 = add nuw i32 %43, 63
  %45 = lshr i32 %43, 7
  %46 = and i32 %45, 1
  %47 = add nuw i32 %44, %46
  %48 = lshr i32 %47, 7
  %49 = shl nuw nsw i32 %42, 23
  %50 = add nsw i32 %49, -8388608
  %51 = add nuw nsw i32 %50, %48
  br label %52

52:
  %53 = phi i32 [ 0, %11 ], [ %51, %41 ], [ 2139095040, %24 ]
  ret i32 %53
}

define internal i32 @__floatdisf(i64 %0) {
  %2 = icmp sgt i64 %0, -1
  br i1 %2, label %7, label %3

3:
  %4 = sub i64 0, %0
  %5 = tail call i32 @__floatundisf(i64 %4)
  %6 = or disjoint i32 %5, -2147483648
  br label %9

7:
  %8 = tail call i32 @__floatundisf(i64 %0)
  br label %9

9:
  %10 = phi i32 [ %6, %3 ], [ %8, %7 ]
  ret i32 %10
}

define internal i32 @__fixunssfsi(i32 %0) {
  %2 = lshr i32 %0, 23
  %3 = and i32 %2, 255
  %4 = add nsw i32 %3, -150
  %5 = and i32 %0, 8388607
  %6 = or disjoint i32 %5, 8388608
  %7 = icmp samesign ugt i32 %3, 126
  %8 = icmp ult i32 %0, 2139095041
  %9 = select i1 %8, i1 %7, i1 false
  br i1 %9, label %10, label %18

10:
  %11 = icmp samesign ugt i32 %3, 158
  br i1 %11, label %18, label %12

12:
  %13 = icmp samesign ult i32 %3, 150
  %14 = sub nuw nsw i32 150, %3
  %15 = lshr i32 %6, %14
  %16 = shl nuw i32 %6, %4
  %17 = select i1 %13, i32 %15, i32 %16
  br label %18

18:
  %19 = phi i32 [ %17, %12 ], [ 0, %1 ], [ -1, %10 ]
  ret i32 %19
}

define internal i32 @__fixsfsi(i32 %0) {
  %2 = and i32 %0, 2147483647
  %3 = lshr i32 %2, 23
  %4 = add nsw i32 %3, -150
  %5 = and i32 %0, 8388607
  %6 = or disjoint i32 %5, 8388608
  %7 = add nsw i32 %2, -1065353216
  %8 = icmp ult i32 %7, 1073741825
  br i1 %8, label %9, label %17

9:
  %10 = icmp samesign ugt i32 %2, 1333788671
  br i1 %10, label %17, label %11

11:
  %12 = icmp samesign ult i32 %2, 1258291200
  %13 = sub nuw nsw i32 150, %3
  %14 = lshr i32 %6, %13
  %15 = shl nuw i32 %6, %4
  %16 = select i1 %12, i32 %14, i32 %15
  br label %17

17:
  %18 = phi i32 [ %16, %11 ], [ 0, %1 ], [ -1, %9 ]
  %19 = icmp sgt i32 %0, -1
  br i1 %19, label %24, label %20

20:
  %21 = icmp ugt i32 %18, -2147483648
  %22 = sub i32 0, %18
  %23 = select i1 %21, i32 -2147483648, i32 %22
  br label %26

24:
  %25 = tail call i32 @llvm.umin.i32(i32 %18, i32 2147483647)
  br label %26

26:
  %27 = phi i32 [ %23, %20 ], [ %25, %24 ]
  ret i32 %27
}

define internal i64 @__fixsfdi(i32 %0) {
  %2 = lshr i32 %0, 23
  %3 = and i32 %2, 255
  %4 = add nsw i32 %3, -150
  %5 = and i32 %0, 8388607
  %6 = or disjoint i32 %5, 8388608
  %7 = zext nneg i32 %6 to i64
  %8 = icmp samesign ugt i32 %3, 126
  %9 = and i32 %0, 2147483647
  %10 = icmp samesign ult i32 %9, 2139095041
  %11 = select i1 %8, i1 %10, i1 false
  br i1 %11, label %12, label %38

12:
  %13 = icmp samesign ugt i32 %3, 189
  br i1 %13, label %16, label %14

14:
  %15 = icmp samesign ult i32 %3, 150
  br i1 %15, label %21, label %19

16:
  %17 = icmp sgt i32 %0, -1
  %18 = select i1 %17, i64 9223372036854775807, i64 -9223372036854775808
  br label %38

19:
  %20 = icmp eq i32 %4, 0
  br i1 %20, label %33, label %27

21:
  %22 = phi i64 [ %24, %21 ], [ %7, %14 ]
  %23 = phi i32 [ %25, %21 ], [ %4, %14 ]
  %24 = lshr i64 %22, 1
  %25 = add nsw i32 %23, 1
  %26 = icmp eq i32 %25, 0
  br i1 %26, label %33, label %21

27:
  %28 = phi i64 [ %30, %27 ], [ %7, %19 ]
  %29 = phi i32 [ %31, %27 ], [ %4, %19 ]
  %30 = shl i64 %28, 1
  %31 = add nsw i32 %29, -1
  %32 = icmp samesign ugt i32 %29, 1
  br i1 %32, label %27, label %33

33:
  %34 = phi i64 [ %7, %19 ], [ %24, %21 ], [ %30, %27 ]
  %35 = sub i64 0, %34
  %36 = icmp slt i32 %0, 0
  %37 = select i1 %36, i64 %35, i64 %34
  br label %38

38:
  %39 = phi i64 [ %37, %33 ], [ %18, %16 ], [ 0, %1 ]
  ret i64 %39
}

define internal i64 @__aeabi_uidivmod(i32 %0, i32 %1) {
  br label %8

3:
  %4 = zext i32 %21 to i64
  %5 = shl nuw i64 %4, 32
  %6 = zext i32 %23 to i64
  %7 = or disjoint i64 %5, %6
  ret i64 %7

8:
  %9 = phi i32 [ 0, %2 ], [ %23, %8 ]
  %10 = phi i32 [ 31, %2 ], [ %24, %8 ]
  %11 = phi i32 [ 0, %2 ], [ %21, %8 ]
  %12 = shl i32 %11, 1
  %13 = lshr i32 %0, %10
  %14 = and i32 %13, 1
  %15 = or disjoint i32 %14, %12
  %16 = shl i32 %9, 1
  %17 = icmp slt i32 %11, 0
  %18 = icmp uge i32 %15, %1
  %19 = select i1 %17, i1 true, i1 %18
  %20 = select i1 %19, i32 %1, i32 0
  %21 = sub i32 %15, %20
  %22 = zext i1 %19 to i32
  %23 = or disjoint i32 %16, %22
  %24 = add nsw i32 %10, -1
  %25 = icmp eq i32 %10, 0
  br i1 %25, label %3, label %8
}

define internal i64 @__aeabi_idivmod(i32 %0, i32 %1) {
  %3 = tail call i32 @llvm.abs.i32(i32 %0, i1 false)
  %4 = tail call i32 @llvm.abs.i32(i32 %1, i1 false)
  %5 = tail call i64 @__aeabi_uidivmod(i32 %3, i32 %4)
  %6 = trunc i64 %5 to i32
  %7 = lshr i64 %5, 32
  %8 = trunc nuw i64 %7 to i32
  %9 = xor i32 %1, %0
  %10 = sub i32 0, %6
  %11 = icmp slt i32 %9, 0
  %12 = select i1 %11, i32 %10, i32 %6
  %13 = sub i32 0, %8
  %14 = icmp slt i32 %0, 0
  %15 = select i1 %14, i32 %13, i32 %8
  %16 = zext i32 %15 to i64
  %17 = shl nuw i64 %16, 32
  %18 = zext i32 %12 to i64
  %19 = or disjoint i64 %17, %18
  ret i64 %19
}

define internal i32 @__udivsi3(i32 %0, i32 %1) {
  %3 = tail call i64 @__aeabi_uidivmod(i32 %0, i32 %1)
  %4 = trunc i64 %3 to i32
  ret i32 %4
}

define internal i32 @__divsi3(i32 %0, i32 %1) {
  %3 = tail call i32 @llvm.abs.i32(i32 %0, i1 false)
  %4 = tail call i32 @llvm.abs.i32(i32 %1, i1 false)
  %5 = tail call i64 @__aeabi_uidivmod(i32 %3, i32 %4)
  %6 = trunc i64 %5 to i32
  %7 = xor i32 %1, %0
  %8 = sub i32 0, %6
  %9 = icmp slt i32 %7, 0
  %10 = select i1 %9, i32 %8, i32 %6
  ret i32 %10
}

define internal i64 @__udivdi3(i64 %0, i64 %1) {
  %3 = icmp eq i64 %1, 0
  br i1 %3, label %44, label %4

4:
  %5 = icmp ult i64 %0, 4294967296
  br i1 %5, label %10, label %6

6:
  %7 = icmp sgt i64 %1, -1
  %8 = icmp ult i64 %1, %0
  %9 = and i1 %7, %8
  br i1 %9, label %19, label %27

10:
  %11 = icmp ult i64 %1, 4294967296
  br i1 %11, label %12, label %16

12:
  %13 = trunc nuw i64 %0 to i32
  %14 = trunc nuw i64 %1 to i32
  %15 = udiv i32 %13, %14
  br label %16

16:
  %17 = phi i32 [ %15, %12 ], [ 0, %10 ]
  %18 = zext i32 %17 to i64
  br label %44

19:
  %20 = phi i32 [ %23, %19 ], [ 0, %6 ]
  %21 = phi i64 [ %22, %19 ], [ %1, %6 ]
  %22 = shl nuw i64 %21, 1
  %23 = add nuw nsw i32 %20, 1
  %24 = icmp sgt i64 %22, -1
  %25 = icmp ult i64 %22, %0
  %26 = and i1 %24, %25
  br i1 %26, label %19, label %27

27:
  %28 = phi i32 [ 0, %6 ], [ %23, %19 ]
  %29 = phi i64 [ %1, %6 ], [ %22, %19 ]
  br label %30

30:
  %31 = phi i32 [ %42, %30 ], [ %28, %27 ]
  %32 = phi i64 [ %40, %30 ], [ 0, %27 ]
  %33 = phi i64 [ %41, %30 ], [ %29, %27 ]
  %34 = phi i64 [ %38, %30 ], [ %0, %27 ]
  %35 = shl i64 %32, 1
  %36 = icmp uge i64 %34, %33
  %37 = select i1 %36, i64 %33, i64 0
  %38 = sub nuw i64 %34, %37
  %39 = zext i1 %36 to i64
  %40 = or disjoint i64 %35, %39
  %41 = lshr i64 %33, 1
  %42 = add nsw i32 %31, -1
  %43 = icmp eq i32 %31, 0
  br i1 %43, label %44, label %30

44:
  %45 = phi i64 [ -1, %2 ], [ %18, %16 ], [ %40, %30 ]
  ret i64 %45
}

define internal i64 @__umoddi3(i64 %0, i64 %1) {
  %3 = tail call i64 @__udivdi3(i64 %0, i64 %1)
  %4 = mul i64 %3, %1
  %5 = sub i64 %0, %4
  ret i64 %5
}

define internal i64 @__divdi3(i64 %0, i64 %1) {
  %3 = tail call i64 @llvm.abs.i64(i64 %0, i1 false)
  %4 = tail call i64 @llvm.abs.i64(i64 %1, i1 false)
  %5 = tail call i64 @__udivdi3(i64 %3, i64 %4)
  %6 = xor i64 %1, %0
  %7 = sub i64 0, %5
  %8 = icmp slt i64 %6, 0
  %9 = select i1 %8, i64 %7, i64 %5
  ret i64 %9
}

define internal i64 @__moddi3(i64 %0, i64 %1) {
  %3 = tail call i64 @llvm.abs.i64(i64 %0, i1 false)
  %4 = tail call i64 @llvm.abs.i64(i64 %1, i1 false)
  %5 = tail call i64 @__udivdi3(i64 %3, i64 %4)
  %6 = xor i64 %1, %0
  %7 = sub i64 0, %5
  %8 = icmp slt i64 %6, 0
  %9 = select i1 %8, i64 %5, i64 %7
  %10 = mul i64 %9, %1
  %11 = add i64 %10, %0
  ret i64 %11
}

define internal i64 @__muldi3(i64 %0, i64 %1) {
  %3 = trunc i64 %0 to i32
  %4 = trunc i64 %1 to i32
  %5 = and i32 %3, 65535
  %6 = and i32 %4, 65535
  %7 = mul nuw i32 %6, %5
  %8 = lshr i32 %3, 16
  %9 = lshr i32 %4, 16
  %10 = mul nuw i32 %9, %8
  %11 = mul nuw i32 %6, %8
  %12 = mul nuw i32 %9, %5
  %13 = lshr i32 %7, 16
  %14 = and i32 %11, 65535
  %15 = add nuw nsw i32 %13, %14
  %16 = and i32 %12, 65535
  %17 = add nuw nsw i32 %15, %16
  %18 = lshr i32 %11, 16
  %19 = lshr i32 %12, 16
  %20 = lshr i32 %17, 16
  %21 = lshr i64 %1, 32
  %22 = trunc nuw i64 %21 to i32
  %23 = mul i32 %22, %3
  %24 = lshr i64 %0, 32
  %25 = trunc nuw i64 %24 to i32
  %26 = mul i32 %4, %25
  %27 = add i32 %23, %26
  %28 = add i32 %27, %10
  %29 = add i32 %28, %19
  %30 = add i32 %29, %18
  %31 = add i32 %30, %20
  %32 = zext i32 %31 to i64
  %33 = shl nuw i64 %32, 32
  %34 = shl i32 %17, 16
  %35 = zext i32 %34 to i64
  %36 = or disjoint i64 %33, %35
  %37 = and i32 %7, 65535
  %38 = zext nneg i32 %37 to i64
  %39 = or disjoint i64 %36, %38
  ret i64 %39
}

define internal i64 @__ashldi3(i64 %0, i32 %1) {
  %3 = trunc i64 %0 to i32
  %4 = lshr i64 %0, 32
  %5 = trunc nuw i64 %4 to i32
  %6 = icmp eq i32 %1, 0
  br i1 %6, label %21, label %7

7:
  %8 = icmp ugt i32 %1, 31
  br i1 %8, label %9, label %14

9:
  %10 = add i32 %1, -32
  %11 = shl i32 %3, %10
  %12 = zext i32 %11 to i64
  %13 = shl nuw i64 %12, 32
  br label %21

14:
  %15 = tail call i32 @llvm.fshl.i32(i32 %5, i32 %3, i32 %1)
  %16 = zext i32 %15 to i64
  %17 = shl nuw i64 %16, 32
  %18 = shl i32 %3, %1
  %19 = zext i32 %18 to i64
  %20 = or disjoint i64 %17, %19
  br label %21

21:
  %22 = phi i64 [ %13, %9 ], [ %20, %14 ], [ %0, %2 ]
  ret i64 %22
}

define internal i64 @__lshrdi3(i64 %0, i32 %1) {
  %3 = trunc i64 %0 to i32
  %4 = lshr i64 %0, 32
  %5 = trunc nuw i64 %4 to i32
  %6 = icmp eq i32 %1, 0
  br i1 %6, label %20, label %7

7:
  %8 = icmp ugt i32 %1, 31
  br i1 %8, label %9, label %13

9:
  %10 = add i32 %1, -32
  %11 = lshr i32 %5, %10
  %12 = zext i32 %11 to i64
  br label %20

13:
  %14 = lshr i32 %5, %1
  %15 = zext nneg i32 %14 to i64
  %16 = shl nuw nsw i64 %15, 32
  %17 = tail call i32 @llvm.fshr.i32(i32 %5, i32 %3, i32 %1)
  %18 = zext i32 %17 to i64
  %19 = or disjoint i64 %16, %18
  br label %20

20:
  %21 = phi i64 [ %12, %9 ], [ %19, %13 ], [ %0, %2 ]
  ret i64 %21
}

define internal i64 @__ashrdi3(i64 %0, i32 %1) {
  %3 = trunc i64 %0 to i32
  %4 = lshr i64 %0, 32
  %5 = trunc nuw i64 %4 to i32
  %6 = icmp eq i32 %1, 0
  br i1 %6, label %24, label %7

7:
  %8 = icmp ugt i32 %1, 31
  br i1 %8, label %9, label %17

9:
  %10 = ashr i32 %5, 31
  %11 = zext i32 %10 to i64
  %12 = shl nuw i64 %11, 32
  %13 = add i32 %1, -32
  %14 = ashr i32 %5, %13
  %15 = zext i32 %14 to i64
  %16 = or disjoint i64 %12, %15
  br label %24

17:
  %18 = ashr i32 %5, %1
  %19 = zext i32 %18 to i64
  %20 = shl nuw i64 %19, 32
  %21 = tail call i32 @llvm.fshr.i32(i32 %5, i32 %3, i32 %1)
  %22 = zext i32 %21 to i64
  %23 = or disjoint i64 %20, %22
  br label %24

24:
  %25 = phi i64 [ %16, %9 ], [ %23, %17 ], [ %0, %2 ]
  ret i64 %25
}
